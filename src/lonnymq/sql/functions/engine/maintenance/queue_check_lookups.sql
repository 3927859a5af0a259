-- Finds messages that wait in a gap, where no dequeue would look, and messages that are both live and
-- dead. Looks each of them up by index: a plan that reads all messages for each channel would take
-- minutes, so the plan is pinned. See queue_check.
-- Answers: a row per violation.
create or replace function lonnymq.queue_check_lookups()
returns table (invariant text, channel text, message_id bigint, detail text)
language sql
stable
set enable_nestloop = on
set enable_indexscan = on
set enable_seqscan = off
set enable_bitmapscan = off
as $$
  with told as materialized (
    select * from lonnymq.change_totals()
  )
  select 'reachable', c.name, m.id, format('waits since %s in a gap from %s to %s', m.dequeue_at, p.gap_at,
    p.gap_end_at)
  from lonnymq.channel_position p
  join lonnymq.channel c on c.id = p.channel_id
  cross join lateral (
    select m.dequeue_at, m.id from lonnymq.message m
    where m.channel = c.name and m.token is null and (m.dequeue_at, m.id) > (p.gap_at, p.gap_id)
      and (m.expires_at > (select lonnymq.epoch())) is not false
      and (m.dequeue_at, m.id) < (p.gap_end_at, p.gap_end_id)
    order by m.dequeue_at, m.id limit 1
  ) m
  where p.gap_at is not null and (
    select t.rescan or t.first <= array[m.dequeue_at, m.id] from told t where t.channel = c.name
  ) is not true
  union all
  select 'dead_not_live', m.channel, m.id, 'the message is in both tables, message and dead'
  from lonnymq.dead d
  cross join lateral (select * from lonnymq.message m where m.id = d.id limit 1) m
$$;

comment on function lonnymq.queue_check_lookups() is
'Finds messages that wait in a gap, and messages that are both live and dead.';
