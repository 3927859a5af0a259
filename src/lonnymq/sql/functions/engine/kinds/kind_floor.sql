-- The lowest and the last seat in the ring of a filter, for a walk. Seats below have been left, and an open snapshot may
-- keep them. A ring that was built in this call has later seats than the walk began with.
create or replace function lonnymq.kind_floor(p_walk lonnymq.walk)
returns lonnymq.walk
language plpgsql
as $$
declare
  v_stored bigint;
  v_floor bigint;
begin
  select f.seat_floor into v_stored from lonnymq.kind_filter f where f.id = p_walk.filter_id;
  select p.seat into v_floor from lonnymq.kind_position p
  where p.filter_id = p_walk.filter_id and p.seat >= v_stored
  order by p.seat limit 1;
  p_walk.seat_last := (select s.last_value from lonnymq.seat_seq s);
  p_walk.seat_floor := coalesce(v_floor, p_walk.seat_last);
  if p_walk.is_folder and p_walk.seat_floor > v_stored + 1000 then
    update lonnymq.kind_filter f set seat_floor = p_walk.seat_floor where f.id = p_walk.filter_id;
  end if;
  return p_walk;
end
$$;

comment on function lonnymq.kind_floor(lonnymq.walk) is
'The lowest and the last seat in the ring of a filter.';
