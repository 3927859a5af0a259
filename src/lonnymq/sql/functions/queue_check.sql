-- Looks for what must never be, in one snapshot, and so right while the queue is at work. Reads every
-- message: for tests, for doctors, not for every minute.
--
-- Answers: one row a violation; none when all is well.
create or replace function lonnymq.queue_check()
returns table (invariant text, channel text, message_id bigint, detail text)
language sql
stable
as $$
  with told as materialized (
    select n.channel, n.dequeue_at, n.message_id, n.slots, n.queue_slots, n.size, n.look
    from lonnymq.note n
  ), told_sum as materialized (
    select t.channel, sum(t.slots) as slots, sum(t.size) as size, bool_or(t.look) as look
    from told t group by t.channel
  ), metered as materialized (
    select distinct on (m.channel_id) m.* from lonnymq.meter m
    order by m.channel_id, m.version desc
  ), counted as materialized (
    select m.channel, count(*) as messages, count(*) filter (where m.slot & 1 = 1) as slots,
      sum(m.slot >> 1) as queue_slots
    from lonnymq.message m group by m.channel
  ), watched as materialized (
    select i.id, min(l.due_at) as due_at
    from lonnymq.lease l cross join unnest(l.message_ids) as i (id) group by i.id
  ), stood as materialized (
    select c.*, w.seat, w.hold, w.wake_at, w.floor_at, w.floor_id, w.version as place_version,
      coalesce(m.in_flight, 0) as in_flight, coalesce(m.size, 0) as size,
      coalesce(n.messages, 0) as messages, coalesce(n.slots, 0) as leases,
      coalesce(t.slots, 0) as told_slots, coalesce(t.size, 0) as told_size,
      coalesce(t.look, false) as told_look
    from lonnymq.channel c
    left join (
      select distinct on (p.channel_id) p.* from lonnymq.place p
      order by p.channel_id, p.version desc
    ) w on w.channel_id = c.id
    left join metered m on m.channel_id = c.id
    left join counted n on n.channel = c.name
    left join told_sum t on t.channel = c.name
  )
  select 'in_flight', s.name, null::bigint,
    format('the meter says %s in flight, %s are leased and %s are told of', s.in_flight, s.leases,
      s.told_slots)
  from stood s
  where s.in_flight <> s.leases + s.told_slots
  union all
  select 'queue_in_flight', null, null, format('the meter says %s in flight, %s are leased or told of',
    coalesce(m.in_flight, 0), c.slots)
  from (
    select coalesce((select sum(c.queue_slots) from counted c), 0)
      + coalesce((select sum(t.queue_slots) from told t), 0) as slots
  ) c
  left join metered m on m.channel_id = 0
  where coalesce(m.in_flight, 0) <> c.slots
  union all
  select 'size', s.name, null, format('the meter says %s, there are %s less %s to be told',
    s.size, s.messages, s.told_size)
  from stood s
  where s.max_size is not null and s.recount_after is null and not s.told_look
    and s.size + s.told_size <> s.messages
  union all
  select 'stands_once', s.name, null, format('seat %s, hold %s, wake_at %s', s.seat, s.hold, s.wake_at)
  from stood s
  where s.place_version is null or (s.seat is not null and (s.hold is not null or s.wake_at is not null))
    or (s.hold = 'throttled' and s.wake_at is null)
    or (s.hold = 'saturated' and s.told_slots = 0 and not s.told_look
      and s.in_flight < coalesce(s.max_concurrency, 2147483647))
  union all
  select 'stands_once', null, null, format('channel %s has %s versions of %s', v.channel_id, v.versions,
    v.kind)
  from (
    select p.channel_id, 'place' as kind, count(*) as versions from lonnymq.place p group by 1
    union all
    select m.channel_id, 'meter', count(*) from lonnymq.meter m group by 1
  ) v
  where v.versions > 1
  union all
  select 'reachable', m.channel, m.id, format('waits since %s, floor %s, seat %s, hold %s, wake_at %s',
    m.dequeue_at, s.floor_at, s.seat, s.hold, s.wake_at)
  from lonnymq.message m
  left join stood s on s.name = m.channel
  where m.token is null
    and not exists (
      select from told t where t.channel = m.channel
        and (t.look or (t.dequeue_at, t.message_id) <= (m.dequeue_at, m.id))
    )
    and (s.name is null or (m.dequeue_at, m.id) < (s.floor_at, s.floor_id)
      or (s.seat is null and s.hold is null
        and (s.wake_at is null or s.wake_at > m.dequeue_at)))
  union all
  select 'lease_shape', m.channel, m.id, format('token %s, lease_until %s, dequeued_at %s, slot %s',
    m.token is not null, m.lease_until, m.dequeued_at, m.slot)
  from lonnymq.message m
  where (m.token is null) <> (m.lease_until is null) or (m.token is null) <> (m.dequeued_at is null)
    or (m.token is null and m.slot <> 0) or (m.token is not null and m.attempt < 1)
  union all
  select 'lease_watched', m.channel, m.id, format('the lease ends at %s, looked at %s', m.lease_until,
    coalesce(w.due_at::text, 'never'))
  from lonnymq.message m
  left join watched w on w.id = m.id
  where m.token is not null and (w.id is null or w.due_at > greatest(m.lease_until, lonnymq.epoch() + 1000))
  union all
  select 'lease_overdue', m.channel, m.id, format('the lease ended at %s', m.lease_until)
  from lonnymq.message m
  where m.token is not null and m.lease_until < lonnymq.epoch() - 60000
  union all
  select 'attempts', m.channel, m.id, format('attempt %s of %s', m.attempt, s.most_attempts)
  from lonnymq.message m
  join stood s on s.name = m.channel
  where m.attempt > s.most_attempts or m.attempt < 0
  union all
  select 'one_name', m.channel, min(m.id), format('%s live messages are called %s', count(*), m.name)
  from lonnymq.message m
  where m.name is not null
  group by m.channel, m.name
  having count(*) > 1
  union all
  select 'dead_or_alive', m.channel, m.id, 'is both in message and in dead'
  from lonnymq.message m
  join lonnymq.dead d on d.id = m.id
$$;

comment on function lonnymq.queue_check() is
'Looks for what must never be; no row means all is well.';
