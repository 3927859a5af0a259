-- Begins to count anew how long channels with settings have been idle. Such a channel is never forgotten, and would
-- stand in front of those that are (channel_forget).
-- Locks: the channels, without waiting.
create or replace function lonnymq.channel_keep(p_channels text[], p_now bigint)
returns void
language plpgsql
as $$
declare
  v_old tid[];
  v_new lonnymq.channel_position[];
begin
  with held as materialized (
    select c.id from lonnymq.channel c
    where c.name = any (p_channels)
      and exists (
        select from lonnymq.channel_setting s where s.name = c.name and not s.retiring)
    for update skip locked
  )
  select array_agg(p.tid), array_agg(row(
    p.channel_id, p.version + 1, p.seat, p.wake_at, p.floor_at, p.floor_id, p_now, p.hold, p.gap_at,
    p.gap_id, p.gap_end_at, p.gap_end_id
  )::lonnymq.channel_position)
  into v_old, v_new
  from held h
  cross join lateral (
    select p.ctid as tid, p.* from lonnymq.channel_position p
    where p.channel_id = h.id order by p.version desc limit 1
  ) p
  where p.idle_at is not null;
  if v_old is not null then
    perform lonnymq.channel_position_move(v_old, v_new);
  end if;
end
$$;

comment on function lonnymq.channel_keep(text[], bigint) is
'Begins to count anew how long channels with settings have been idle.';
