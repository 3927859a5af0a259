-- Ends leases of messages whose attempt failed. Each message runs again after the retry delay of the
-- channel, or after the given delay. A message without attempts left is dead, and so is a message that
-- you declare dead. The channel limits the number of attempts, unless you give a limit.
--
-- Answers: `retrying` with the time, `dead`, `lease_lost`, `not_found`.
-- Locks: the messages, in the order of ids, until the transaction ends. Channels are not locked.
-- Notifies: if a channel has no message that is due or scheduled earlier.
create or replace function lonnymq.message_fail(
  p_ids bigint[],
  p_tokens uuid[],
  p_errors text[] default null,
  p_retries_ms bigint[] default null,
  p_deads boolean[] default null,
  p_max_attempts integer[] default null
)
returns table (id bigint, answer text, dequeue_at bigint)
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
  v_now bigint := lonnymq.epoch();
  v_length integer := cardinality(p_ids);
  v_bad bigint;
begin
  perform lonnymq.guard_pairs(p_ids, p_tokens);
  perform lonnymq.guard_aligned('errors', p_errors, v_length);
  perform lonnymq.guard_aligned('retries_ms', p_retries_ms, v_length);
  perform lonnymq.guard_aligned('deads', p_deads, v_length);
  perform lonnymq.guard_aligned('max_attempts', p_max_attempts, v_length);
  select i.retry_ms into v_bad from unnest(p_retries_ms) as i (retry_ms)
  where i.retry_ms not between 0 and 3155760000000 limit 1;
  if found then
    perform lonnymq.guard_range('retry_ms', v_bad, 0, 3155760000000);
  end if;
  perform lonnymq.commit_durably();

  return query
  select l.id, case when l.answer = 'failed' then 'retrying' else l.answer end, l.dequeue_at
  from lonnymq.lease_end(p_ids, p_tokens, 'failed', v_now,
    array(select v_now + i.retry_ms from unnest(p_retries_ms) as i (retry_ms)),
    array(
      select case when i.is_dead then 0 else i.max_attempts end
      from unnest(p_deads, p_max_attempts) as i (is_dead, max_attempts)
    ), p_errors) l;
end
$$;

comment on function lonnymq.message_fail(bigint[], uuid[], text[], bigint[], boolean[], integer[])
is 'Ends leases of messages whose attempt failed.';

create or replace function lonnymq.message_fail(
  p_id bigint,
  p_token uuid,
  p_error text default null,
  p_retry_ms bigint default null,
  p_dead boolean default false
)
returns text
language sql
volatile
as $$
  select f.answer
  from lonnymq.message_fail(array[p_id], array[p_token], array[p_error], array[p_retry_ms],
    array[p_dead]) f
$$;

comment on function lonnymq.message_fail(bigint, uuid, text, bigint, boolean) is
'Ends the lease of a message whose attempt failed.';
