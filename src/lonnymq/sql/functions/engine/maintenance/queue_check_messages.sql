-- Finds changes that no fold will read, leases that no fold will check, and messages in an impossible
-- state. Reads every message once. See queue_check.
-- Answers: a row per violation.
create or replace function lonnymq.queue_check_messages()
returns table (invariant text, channel text, message_id bigint, detail text)
language sql
stable
as $$
  with tick as materialized (
    select * from lonnymq.checkpoint_now()
  ), noted as materialized (
    select n.*, n.xid >= t.until_xid or n.xid = any (t.running_xids) as is_read
    from lonnymq.change n cross join tick t
  ), odd as materialized (
    select m.id, m.channel, m.token, m.lease_until, m.dequeued_at, m.slot, m.attempt
    from lonnymq.message m
    where m.token is not null or m.lease_until is not null or m.dequeued_at is not null or m.slot <> 0
      or m.attempt < 0
  ), watched as materialized (
    select i.id, min(l.due_at) as due_at
    from (
      select l.due_at, l.message_ids from lonnymq.lease l cross join tick t
      where l.due_at > t.lease_mark
      union all
      select n.lease_until, n.message_ids from noted n where n.is_read and n.message_ids is not null
    ) l
    cross join unnest(l.message_ids) as i (id) group by i.id
  )
  select 'change_read', n.channel, n.message_id,
    format('transaction %s wrote a change that will never be read', n.xid)
  from noted n
  where not n.is_read
  union all
  select 'lease_consistent', m.channel, m.id, format('token %s, lease_until %s, dequeued_at %s, slot %s',
    m.token is not null, m.lease_until, m.dequeued_at, m.slot)
  from odd m
  where (m.token is null) <> (m.lease_until is null) or (m.token is null) <> (m.dequeued_at is null)
    or (m.token is null and m.slot <> 0) or (m.token is not null and m.attempt < 1)
  union all
  select 'lease_checked', m.channel, m.id, format('the lease ends at %s, next check: %s', m.lease_until,
    coalesce(w.due_at::text, 'never'))
  from odd m
  left join watched w on w.id = m.id
  where m.token is not null
    and (w.id is null or w.due_at > greatest(m.lease_until, lonnymq.epoch() + 1000))
  union all
  select 'lease_overdue', m.channel, m.id, format('the lease ended at %s', m.lease_until)
  from odd m
  where m.token is not null and m.lease_until < lonnymq.epoch() - 60000
  union all
  select 'reachable', c.name, m.id, format('waits since %s in a gap from %s to %s', m.dequeue_at, p.gap_at,
    p.gap_end_at)
  from lonnymq.channel_position p
  join lonnymq.channel c on c.id = p.channel_id
  cross join lateral (
    select m.dequeue_at, m.id from lonnymq.message m
    where m.channel = c.name and m.token is null and (m.dequeue_at, m.id) > (p.gap_at, p.gap_id)
      and (m.dequeue_at, m.id) < (p.gap_end_at, p.gap_end_id)
    order by m.dequeue_at, m.id limit 1
  ) m
  left join (
    select n.channel, bool_or(n.rescan) as rescan,
      min(array[n.dequeue_at, n.message_id]) filter (where n.dequeue_at is not null) as first
    from noted n where n.is_read group by n.channel
  ) n on n.channel = c.name
  where not coalesce(n.rescan, false) and (n.first <= array[m.dequeue_at, m.id]) is not true
  union all
  select 'attempts', m.channel, m.id, format('attempt %s', m.attempt)
  from odd m
  where m.attempt < 0
  union all
  select 'dead_not_live', m.channel, m.id, 'the message is in both tables, message and dead'
  from lonnymq.dead d
  cross join lateral (select * from lonnymq.message m where m.id = d.id limit 1) m
$$;

comment on function lonnymq.queue_check_messages() is
'Finds changes that no fold will read, and leases that no fold will check.';
