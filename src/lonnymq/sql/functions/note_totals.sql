-- What the notes that a fold will read tell of each channel, together.
create or replace function lonnymq.note_totals()
returns table (
  channel text, slots bigint, queue_slots bigint, size bigint, look boolean, recount boolean,
  recheck boolean, first bigint[]
)
language sql
stable
as $$
  select n.channel, sum(n.slots), sum(n.queue_slots), sum(n.size + n.added), bool_or(n.look),
    bool_or(n.recount), bool_or(n.recheck),
    min(array[n.dequeue_at, n.message_id]) filter (where n.dequeue_at is not null)
  from lonnymq.note n
  cross join lonnymq.tick_now() t
  where n.xid >= t.until or n.xid = any (t.again)
  group by n.channel
$$;

comment on function lonnymq.note_totals() is
'What the notes that a fold will read tell of each channel.';
