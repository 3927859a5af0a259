-- Finds channels with wrong counters or an impossible position, and channels that do not reach their
-- messages. Reads every message once. See queue_check.
-- Answers: a row per violation.
create or replace function lonnymq.queue_check_channels()
returns table (invariant text, channel text, message_id bigint, detail text)
language sql
stable
as $$
  with notified as materialized (
    select * from lonnymq.change_totals()
  ), metered as materialized (
    select distinct on (m.channel_id) m.* from lonnymq.channel_counter m
    order by m.channel_id, m.version desc
  ), counted as materialized (
    select m.channel, count(*) as messages, count(*) filter (where m.slot & 1 = 1) as slots,
      count(*) filter (where m.slot & 2 = 2) as queue_slots,
      min(array[m.dequeue_at, m.id]) filter (where m.token is null and (m.expires_at > (select lonnymq.epoch())) is not false) as first,
      max(m.attempt) filter (where m.max_attempts is null) as attempt
    from lonnymq.message m group by m.channel
  ), early as materialized (
    select u.channel_id, count(*) as leases from lonnymq.early_lease u group by u.channel_id
  ), stood as materialized (
    select c.*, w.seat, w.hold, w.wake_at, w.floor_at, w.floor_id, w.version as place_version,
      coalesce(m.in_flight, 0) as in_flight, coalesce(m.size, 0) as size,
      coalesce(n.messages, 0) as messages, coalesce(n.slots, 0) + coalesce(e.leases, 0) as leases,
      coalesce(t.slots, 0) as told_slots, coalesce(t.size, 0) as told_size,
      coalesce(t.rescan, false) as told_look, coalesce(t.recount, false) as told_recount,
      coalesce(t.recheck, false) as told_recheck
    from lonnymq.channel c
    left join (
      select distinct on (p.channel_id) p.* from lonnymq.channel_position p
      order by p.channel_id, p.version desc
    ) w on w.channel_id = c.id
    left join metered m on m.channel_id = c.id
    left join counted n on n.channel = c.name
    left join notified t on t.channel = c.name
    left join early e on e.channel_id = c.id
  )
  select 'in_flight', s.name, null::bigint,
    format('the counter says %s in flight, %s are leased and %s ended without being counted yet', s.in_flight, s.leases,
      s.told_slots)
  from stood s
  where s.in_flight <> s.leases + s.told_slots
  union all
  select 'queue_in_flight', null, null,
    format('the counter says %s in flight, %s are leased or ended without being counted yet',
    c.in_flight, c.slots)
  from (
    select coalesce((select sum(c.queue_slots) from counted c), 0)
      + coalesce((select sum(t.queue_slots) from notified t), 0)
      + coalesce((select e.leases from early e where e.channel_id = 0), 0) as slots,
      coalesce(lonnymq.queue_in_flight(), 0) as in_flight
  ) c
  where c.in_flight <> c.slots
  union all
  select 'size', s.name, null, format('the counter says %s, there are %s messages of which %s are not counted yet',
    s.size, s.messages, s.told_size)
  from stood s
  where s.max_size is not null and s.recount_after is distinct from '0'::xid8
    and s.early_ids is null and not s.told_look and not s.told_recount
    and s.size + s.told_size <> s.messages
  union all
  select 'one_position', s.name, null, format('seat %s, hold %s, wake_at %s', s.seat, s.hold, s.wake_at)
  from stood s
  where s.place_version is null or (s.seat is not null and (s.hold is not null or s.wake_at is not null))
    or (s.hold = 'throttled' and s.wake_at is null)
    or (s.hold = 'saturated' and s.told_slots = 0 and not s.told_look
      and s.in_flight < coalesce(s.max_concurrency, 2147483647))
    or (s.hold = 'paused' and not s.told_look and not coalesce((
      select p.paused from lonnymq.channel_setting p where p.name = s.name), false))
  union all
  select 'one_position', null, null, format('channel %s has %s versions of %s', v.channel_id, v.versions,
    v.kind)
  from (
    select p.channel_id, 'position' as kind, count(*) as versions from lonnymq.channel_position p group by 1
    union all
    select m.channel_id, 'counter', count(*) from lonnymq.channel_counter m group by 1
  ) v
  where v.versions > 1
  union all
  select 'wakes_in_time', s.name, null,
    format('wake_at is %s, but all channels up to %s should be awake', s.wake_at, t.wake_mark)
  from stood s cross join lonnymq.checkpoint_now() t
  where s.wake_at <= t.wake_mark and not s.told_recheck and not s.told_look
  union all
  select 'reachable', c.channel, c.first[2], format(
    'waits since %s, floor %s, seat %s, hold %s, wake_at %s', c.first[1], s.floor_at, s.seat, s.hold,
    s.wake_at)
  from counted c
  left join stood s on s.name = c.channel
  left join notified t on t.channel = c.channel
  where c.first is not null and not coalesce(t.rescan, false) and (t.first <= c.first) is not true
    and (s.name is null or (c.first[1], c.first[2]) < (s.floor_at, s.floor_id)
      or (s.seat is null and s.hold is null
        and (s.wake_at is null or s.wake_at > c.first[1])))
  union all
  select 'attempts', c.channel, null, format('attempt %s of %s', c.attempt, s.most_attempts)
  from counted c
  join stood s on s.name = c.channel
  where c.attempt > s.most_attempts
$$;

comment on function lonnymq.queue_check_channels() is
'Finds channels with wrong counters, and channels that do not reach their messages.';
