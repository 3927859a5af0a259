-- Looks for what must never be, in one snapshot, and so right while the queue is at work: counts that are
-- off, and every state from which a message would never be delivered: a change that nobody will read, a
-- lease that nobody watches, a channel that nobody wakes. Reads the messages twice, whatever there is: for
-- tests, for doctors, not for every minute. Never by loops over two lists of all channels, whatever the
-- planner believes about tables that have just grown: that took minutes.
--
-- Answers: one row a violation; none when all is well.
create or replace function lonnymq.queue_check()
returns table (invariant text, channel text, message_id bigint, detail text)
language sql
stable
set enable_nestloop = off
set jit = off
as $$
  select * from lonnymq.queue_check_messages()
  union all
  select * from lonnymq.queue_check_channels()
$$;

comment on function lonnymq.queue_check() is
'Looks for what must never be; no row means all is well.';
