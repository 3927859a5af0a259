-- Counts the messages of a channel, up to p_limit of them in their order.
-- Answers: one row. waiting_since is when the first message that waits was there and due, oldest_at when it
--   was due.
create or replace function lonnymq.channel_counts(p_channel text, p_limit integer, p_now bigint)
returns table (
  waiting bigint, scheduled bigint, leased bigint, waiting_since bigint, oldest_at bigint
)
language sql
stable
rows 1
as $$
  select count(*) filter (where m.is_due), count(*) filter (where not m.is_due),
    count(*) filter (where m.is_due is null),
    min(greatest(m.due_at, m.created_at)) filter (where m.is_due),
    min(m.due_at) filter (where m.is_due)
  from (
    select case when m.token is null then m.dequeue_at <= p_now end as is_due,
      lonnymq.message_due_at(m.dequeue_at, m.priority) as due_at, m.created_at
    from lonnymq.message m
    where m.channel = p_channel
    order by m.dequeue_at, m.id limit p_limit
  ) m
$$;

comment on function lonnymq.channel_counts(text, integer, bigint) is
'Counts the messages of a channel, up to a number of them.';
