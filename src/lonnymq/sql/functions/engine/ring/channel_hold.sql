-- Takes the seat of channels at their limit: until a time of the rate, or until a lease ends if there is no time. The
-- caller holds the counters, so no lease is counted as ended meanwhile. A channel whose row another call holds keeps its
-- seat, and the next visit finds the limit again.
-- A caller that is not the folder writes a change for a time (recheck), because the time may pass before the commit.
create or replace function lonnymq.channel_hold(
  p_ids bigint[], p_wake_ats bigint[], p_is_folder boolean
)
returns void
language plpgsql
as $$
declare
  v_locked bigint[];
  v_old tid[];
  v_new lonnymq.channel_position[];
begin
  select array_agg(l.id) into v_locked
  from (
    select c.id from lonnymq.channel c where c.id = any (p_ids) order by c.id
    for update skip locked
  ) l;
  select array_agg(p.tid), array_agg(row(
    p.channel_id, p.version + 1, null, i.wake_at, p.floor_at, p.floor_id, null,
    case when i.wake_at is null then 'saturated' else 'throttled' end,
    p.gap_at, p.gap_id, p.gap_end_at, p.gap_end_id
  )::lonnymq.channel_position)
  into v_old, v_new
  from unnest(p_ids, p_wake_ats) as i (id, wake_at)
  cross join lateral (
    select p.ctid as tid, p.* from lonnymq.channel_position p
    where p.channel_id = i.id order by p.version desc limit 1
  ) p
  where p.seat is not null and i.id = any (v_locked);
  if v_old is null then
    return;
  end if;
  perform lonnymq.channel_position_move(v_old, v_new);
  if not p_is_folder then
    insert into lonnymq.change (channel, recheck)
    select c.name, true from unnest(v_new) as n
    cross join lateral (select c.name from lonnymq.channel c where c.id = n.channel_id limit 1) c
    where n.wake_at is not null;
  end if;
end
$$;

comment on function lonnymq.channel_hold(bigint[], bigint[], boolean) is
'Takes the seat of channels at their limit.';
