-- Moves channels to new positions: deletes the old versions, given by ctid, and inserts the new
-- versions. The caller has locked the channels.
create or replace function lonnymq.channel_position_move(
  p_old tid[], p_new lonnymq.channel_position[]
)
returns void
language plpgsql
as $$
begin
  delete from lonnymq.channel_position p where p.ctid = any (p_old);
  insert into lonnymq.channel_position (
    channel_id, version, seat, wake_at, floor_at, floor_id, idle_at, hold, gap_at, gap_id,
    gap_end_at, gap_end_id
  )
  select n.channel_id, n.version, n.seat, n.wake_at, n.floor_at, n.floor_id, n.idle_at, n.hold,
    n.gap_at, n.gap_id, n.gap_end_at, n.gap_end_id
  from unnest(p_new) as n;
end
$$;

comment on function lonnymq.channel_position_move(tid[], lonnymq.channel_position[]) is
'Moves channels to new positions.';
