-- Asks for a notification when messages end, and tells what became of the messages so far. Listen on the
-- notification channel `ended_` and the name of the schema first: the payload has the ids, separated by commas.
-- Ask again from time to time. A message that another transaction is just leasing or settling is not watched yet.
--
-- Answers: a row per id, in the order of the ids, see `message_status`.
-- Locks: the messages, without waiting. Locked messages are skipped.
-- Notifies: no.
create or replace function lonnymq.message_watch(p_ids bigint[])
returns table (
  id bigint, state text, channel text, kind text, key text, attempt integer, worker text,
  created_at bigint, dequeue_at bigint, dequeued_at bigint, lease_until bigint,
  finished_at bigint, error text, result_size bigint, progress real,
  progress_note text, now_at bigint
)
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_has_roles boolean := current_user <> session_user;
begin
  if cardinality(p_ids) <= 10000 then
    update lonnymq.message m set watched = true
    where m.id = any (array(
      select m.id from lonnymq.message m
      where m.id = any (p_ids) and m.watched is null
        and (not v_has_roles or lonnymq.channel_permitted(m.channel))
      order by m.id
      for update skip locked
    ));
  end if;
  return query select * from lonnymq.message_status(p_ids);
end
$$;

comment on function lonnymq.message_watch(bigint[]) is
'Asks for a notification when messages end, and tells their status.';
