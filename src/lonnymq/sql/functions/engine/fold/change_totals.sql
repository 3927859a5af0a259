-- The totals per channel of the changes that a fold will read.
create or replace function lonnymq.change_totals()
returns table (
  channel text, slots bigint, queue_slots bigint, size bigint, rescan boolean, recount boolean,
  recheck boolean, first bigint[]
)
language sql
stable
as $$
  select n.channel, sum(n.slots), sum(n.queue_slots), sum(n.size), bool_or(n.rescan),
    bool_or(n.recount), bool_or(n.recheck),
    min(array[n.dequeue_at, n.message_id]) filter (where n.dequeue_at is not null)
  from lonnymq.checkpoint_now() t
  cross join lateral (
    select n.xid, n.channel, n.slots, n.queue_slots, n.size + n.added as size, n.rescan, n.recount, n.recheck,
      n.dequeue_at, n.message_id
    from lonnymq.change n
    union all
    select n.xid, s.channel, 1, 0, 0, false, false, false, null, null
    from lonnymq.change n cross join unnest(n.slot_channels) as s (channel)
  ) n
  where n.xid >= t.until_xid or n.xid = any (t.running_xids)
  group by n.channel
$$;

comment on function lonnymq.change_totals() is
'The totals per channel of the changes that a fold will read.';
