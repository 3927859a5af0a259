-- Ends leases: this attempt failed. The message runs again after the channel's back-off, or the
-- delay given; out of attempts, or if told so, it is dead. Attempts are limited by the channel, and
-- by the limit given where that is lower.
--
-- Answers: retrying (and when); dead; lease_lost; not_found.
-- Locks: the messages, in the order of their ids, until the transaction ends. Never a channel.
-- Notifies: when a channel has nothing due and nothing earlier to wait for.
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
  v_ids bigint[];
  v_done uuid[];
  v_errors text[];
  v_died boolean[];
  v_retry_ats bigint[];
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

  with input as materialized (
    select distinct on (i.id, i.token) i.id, i.token, left(i.error, 10000) as error, i.retry_ms,
      coalesce(i.dead, false) as dead, i.max_attempts
    from unnest(p_ids, p_tokens, p_errors, p_retries_ms, p_deads, p_max_attempts)
      with ordinality as i (id, token, error, retry_ms, dead, max_attempts, ordinal)
    order by i.id, i.token, i.ordinal
  ), held as materialized (
    select m.id, m.token, i.error, i.retry_ms, i.dead, i.max_attempts, m.attempt,
      m.channel
    from input i
    cross join lateral (
      select * from lonnymq.message m where m.id = i.id and m.token = i.token for update
    ) m
  ), judged as materialized (
    select h.id, h.token, h.error,
      h.dead or h.attempt >= least(h.max_attempts,
        coalesce(s.max_attempts, c.max_attempts, q.default_max_attempts)) as is_dead,
      v_now + coalesce(h.retry_ms, lonnymq.retry_delay(h.attempt,
        coalesce(s.retry_delays_ms, c.retry_delays_ms, q.default_retry_delays_ms),
        coalesce(s.retry_jitter, c.retry_jitter, q.default_retry_jitter))) as retry_at
    from held h
    cross join lonnymq.queue q
    left join lateral (select * from lonnymq.channel c where c.name = h.channel limit 1) c on true
    left join lateral (
      select * from lonnymq.channel_setting s where s.name = h.channel limit 1
    ) s on true
    where q.only_row
  )
  select array_agg(j.id), array_agg(j.token), array_agg(j.is_dead), array_agg(j.retry_at),
    array_agg(j.error)
  into v_ids, v_done, v_died, v_retry_ats, v_errors
  from judged j;

  if v_done is not null then
    perform lonnymq.attempt_end(v_ids, v_died, v_retry_ats, v_errors, 'failed', v_now);
  end if;

  return query
  select a.id,
    case when a.answer = 'failed' then
      case when v_died[a.place] then 'dead' else 'retrying' end
    else a.answer end,
    case when a.answer = 'failed' and not v_died[a.place] then v_retry_ats[a.place] end
  from lonnymq.settle_answers(p_ids, p_tokens, v_ids, v_done, 'failed') a;
end
$$;

comment on function lonnymq.message_fail(bigint[], uuid[], text[], bigint[], boolean[], integer[])
is 'Ends leases: this attempt failed.';

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
'Ends one lease: this attempt failed.';
