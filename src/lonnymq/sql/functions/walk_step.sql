-- Moves a walk past a window from which messages were taken: to its end, or into the middle of it if
-- nothing more may be taken. A lap ends with those who sat down during it, up to the moment when the walk
-- came to the first of them; from then on it is in its tail.
create or replace function lonnymq.walk_step(
  p_walk lonnymq.walk, p_window lonnymq.ring_window, p_places integer[], p_taken bigint[]
)
returns lonnymq.walk
language plpgsql
immutable
as $$
declare
  v_count integer := coalesce(cardinality(p_places), 0);
  v_last integer := cardinality(p_window.seats);
  v_is_cut boolean := p_walk.remaining = v_count and p_window.rounds = 1;
begin
  p_walk.remaining := p_walk.remaining - v_count;
  p_walk.visits := p_walk.visits + v_last;
  if v_is_cut then
    v_last := p_places[v_count];
  end if;
  if p_window.seats[v_last] > p_walk.lap then
    p_walk.is_tail := true;
    p_walk.lap := p_walk.seat_last;
  elsif p_window.seats[v_last] <= p_walk.seat then
    p_walk.lap := case when p_walk.is_tail then p_walk.lap else p_walk.seat_last end;
    p_walk.is_tail := false;
  end if;
  p_walk.used := case when v_is_cut then p_taken[v_last]
    + case when v_last = 1 then p_window.used else 0 end else 0 end;
  if p_walk.used >= p_window.weights[v_last] then
    p_walk.used := 0;
  end if;
  p_walk.seat := p_window.seats[v_last];
  return p_walk;
end
$$;

comment on function lonnymq.walk_step(
  lonnymq.walk, lonnymq.ring_window, integer[], bigint[]
) is
'Moves a walk past a window from which messages were taken.';
