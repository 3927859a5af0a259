-- Ends leases whose messages are not done: back into the line, or dead. Writes history and the changes. Shared
-- by message_fail, message_defer and lease_reclaim, and the one place where it is decided whether a message
-- has another attempt (retry_rule).
--
-- p_outcome is what history says of those that go back: failed, expired or deferred. A deferred message gets
-- its attempt back, keeps its error, and has the state given if there is one. Without a moment to go back to
-- it is the channel's back-off. The message's own number of attempts counts, or the one given, or the channel's, and
-- 0 given is dead at once. Without tokens the caller holds the leases, each once.
--
-- Answers: one row a pair, in the order given: the outcome (and until when), dead, lease_lost, not_found.
-- Locks: the messages, in the order of their ids.
-- Notifies: when a channel has nothing due and nothing earlier to wait for.
create or replace function lonnymq.lease_end(
  p_ids bigint[], p_tokens uuid[], p_outcome text, p_now bigint, p_next_ats bigint[],
  p_max_attempts integer[] default null, p_errors text[] default null, p_states bytea[] default null
)
returns table (id bigint, answer text, dequeue_at bigint)
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
#variable_conflict use_column
declare
  v_history text;
  v_ids bigint[];
  v_tokens uuid[];
  v_ordinals bigint[];
  v_tids tid[];
  v_died boolean[];
  v_next_ats bigint[];
  v_due_ats bigint[];
  v_errors text[];
  v_states bytea[];
begin
  select q.history into v_history from lonnymq.queue q where q.only_row;
  with input as materialized (
    select distinct on (i.id, i.token) i.*
    from unnest(p_ids, p_tokens, p_next_ats, p_max_attempts, p_errors, p_states)
      with ordinality as i (id, token, next_at, max_attempts, error, state, ordinal)
    order by i.id, i.token, i.ordinal
  ), ended as materialized (
    select m.*, i.ordinal, left(i.error, 10000) as error, i.state,
      coalesce(m.attempt >= m.most, r.is_last, false) as died,
      case when coalesce(m.attempt >= m.most, r.is_last) is not true then lonnymq.message_rank(coalesce(i.next_at,
        p_now + lonnymq.retry_delay(m.attempt, r.delays_ms, r.jitter)), m.priority, p_now) end as next_at
    from input i
    cross join lateral (
      select m.ctid as tid, m.id, m.token, m.created_at, m.dequeue_at, m.dequeued_at,
        octet_length(m.content) as size, m.attempt, m.slot, m.channel, m.kind, m.key, m.worker,
        m.headers, case when v_history = 'content' then m.content end as content, m.priority,
        case when i.max_attempts = 0 then 0 when p_outcome <> 'deferred' then coalesce(m.max_attempts, i.max_attempts) end as most
      from lonnymq.message m
      where m.id = i.id and (m.token = i.token or p_tokens is null) for update
    ) m
    left join lateral (select * from lonnymq.retry_rule(m.channel, m.attempt) where p_outcome <> 'deferred' limit 1) r on true
  ), logged as (
    insert into lonnymq.history (
      xid, message_id, created_at, dequeue_at, dequeued_at, finished_at, size, attempt, outcome, channel, kind, key,
      worker, error, headers, content
    )
    select (select p.at from lonnymq.history_position() as p (at)),
      e.id, e.created_at, lonnymq.message_due_at(e.dequeue_at, e.priority), e.dequeued_at, p_now, e.size, e.attempt,
      case when e.died then 'dead' else p_outcome end, e.channel, e.kind, e.key, e.worker, e.error, e.headers, e.content
    from ended e where v_history <> 'off'
  ), notified as (
    -- One change for each channel: the first and last message that run again, leases and deaths of all.
    insert into lonnymq.change (channel, dequeue_at, message_id, last_at, last_id, slots, queue_slots, size, notified)
    select f.channel, f.next_at, case when not f.died then f.id end, f.last_at, f.last_id, f.slots, f.queue_slots,
      -f.deaths, not f.died and lonnymq.channel_notify(f.channel, f.next_at)
    from (
      select distinct on (e.channel) e.channel, e.died, e.next_at, e.id, max(e.next_at) over whole as last_at,
        max(e.id) over whole as last_id, sum(e.slot & 1) over whole as slots, sum((e.slot >> 1) & 1) over whole as queue_slots,
        count(*) filter (where e.died and e.slot & 4 = 4) over whole as deaths
      from ended e window whole as (partition by e.channel)
      order by e.channel, e.died, e.next_at, e.id
    ) f
    where not f.died or f.slots + f.queue_slots + f.deaths > 0
  ), later as (
    -- With a priority: looked at again, and moved up, when it is due (message_promote).
    insert into lonnymq.change (channel, lease_until, message_ids)
    select '', e.next_at, array_agg(e.id) from ended e where e.priority > 0 and e.next_at > p_now group by e.next_at
  )
  select array_agg(e.id), array_agg(e.token), array_agg(e.ordinal), array_agg(e.tid), array_agg(e.died),
    array_agg(e.next_at), array_agg(lonnymq.message_due_at(e.next_at, e.priority)), array_agg(e.error), array_agg(e.state)
  into v_ids, v_tokens, v_ordinals, v_tids, v_died, v_next_ats, v_due_ats, v_errors, v_states
  from ended e;

  update lonnymq.message m
  set token = null, lease_until = null, dequeued_at = null, worker = null, slot = 0,
    progress = null, progress_note = null, dequeue_at = t.next_at, state = coalesce(t.state, m.state),
    error = case when p_outcome = 'deferred' then m.error else t.error end,
    attempt = m.attempt - case when p_outcome = 'deferred' then 1 else 0 end
  from unnest(v_tids, v_next_ats, v_errors, v_states, v_died) as t (tid, next_at, error, state, died)
  where m.ctid = t.tid and not t.died;
  if true = any (v_died) then
    perform lonnymq.dead_add(v_tids, v_errors, v_died, p_now);
  end if;

  if cardinality(v_ids) = cardinality(p_ids) then
    return query select e.id, case when e.died then 'dead' else p_outcome end, e.next_at
    from unnest(v_ids, v_died, v_due_ats, v_ordinals) as e (id, died, next_at, ordinal) order by e.ordinal;
    return;
  end if;
  return query
  select a.id, case when a.answer = p_outcome and v_died[a.place] then 'dead' else a.answer end,
    case when a.answer = p_outcome then v_due_ats[a.place] end
  from lonnymq.settle_answers(p_ids, p_tokens, v_ids, v_tokens, p_outcome) a;
end
$$;

comment on function lonnymq.lease_end(
  bigint[], uuid[], text, bigint, bigint[], integer[], text[], bytea[]
) is
'Ends leases of messages that are not completed: back into the channel, or dead.';
