-- Checks the queue for broken invariants: wrong counts, and every state in which a message would never
-- be delivered. The function reads a single snapshot, so you can run the check while the queue is
-- working. The check reads all messages twice: do not run the check every minute.
--
-- Answers: a row per problem. No row means that the queue is sound.
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
  union all
  select * from lonnymq.queue_check_lookups()
  union all
  select * from lonnymq.queue_check_kinds()
$$;

comment on function lonnymq.queue_check() is
'Checks the queue for broken invariants. No row means that the queue is sound.';
