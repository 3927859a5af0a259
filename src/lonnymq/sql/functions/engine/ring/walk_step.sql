-- Moves a walk past a window from which messages were taken: to its end, or into the middle of it if
-- nothing more may be taken.
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
  p_walk.lap := lonnymq.walk_lap(p_walk.lap, p_walk.seat, p_window.seats[v_last], p_walk.seat_last);
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
