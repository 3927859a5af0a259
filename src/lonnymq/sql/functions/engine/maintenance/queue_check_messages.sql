-- Finds changes that no fold will read, leases that no fold will check, and messages in an impossible
-- state. Reads every message once. See queue_check.
-- Answers: a row per violation.
create or replace function lonnymq.queue_check_messages()
returns table (invariant text, channel text, message_id bigint, detail text)
language sql
stable
as $$
  with checkpoint as materialized (
    select * from lonnymq.checkpoint_now()
  ), noted as materialized (
    select n.*, n.xid >= t.until_xid or n.xid = any (t.running_xids) as is_read
    from lonnymq.change n cross join checkpoint t
  ), odd as materialized (
    select m.id, m.channel, m.token, m.lease_until, m.dequeued_at, m.slot, m.attempt
    from lonnymq.message m
    where m.token is not null or m.lease_until is not null or m.dequeued_at is not null or m.slot <> 0
      or m.attempt < 0
  ), watched as materialized (
    select i.id, min(l.due_at) as due_at
    from (
      -- Every fold checks a lease that somebody was settling when it ran out (lease_unlocked).
      select case when l.is_settling then 0 else l.due_at end as due_at, l.message_ids
      from lonnymq.lease l cross join checkpoint t
      where l.due_at > t.lease_mark or l.is_settling
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
  select 'attempts', m.channel, m.id, format('attempt %s', m.attempt)
  from odd m
  where m.attempt < 0
$$;

comment on function lonnymq.queue_check_messages() is
'Finds changes that no fold will read, and leases that no fold will check.';
