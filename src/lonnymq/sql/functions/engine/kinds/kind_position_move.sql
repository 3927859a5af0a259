-- Moves channels in the rings of filters: deletes the old versions, given by ctid, and inserts the new versions. A
-- version is a number that only grows, also over a deletion. Only the folder calls this function.
create or replace function lonnymq.kind_position_move(p_old tid[], p_new lonnymq.kind_position[])
returns void
language plpgsql
as $$
begin
  delete from lonnymq.kind_position p where p.ctid = any (p_old);
  insert into lonnymq.kind_position (
    channel_id, filter_id, version, seat, wake_at, floor_at, floor_id, is_held
  )
  select n.channel_id, n.filter_id, coalesce(n.seat, nextval('lonnymq.seat_seq')), n.seat, n.wake_at,
    n.floor_at, n.floor_id, n.is_held
  from unnest(p_new) as n;
end
$$;

comment on function lonnymq.kind_position_move(tid[], lonnymq.kind_position[]) is
'Moves channels in the rings of filters.';
