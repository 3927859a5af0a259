-- Completes leased messages, in the transaction of the caller. The work and the completion commit
-- together. `p_results` has what `message_result` returns as long as history keeps the attempt: up to 1 MiB per
-- message, or null.
--
-- Answers: `completed`, `lease_lost` (the token does not match the present lease), `not_found`.
-- Locks: the messages, in the order of ids, until the transaction ends. Channels are not locked.
-- Notifies: those who wait for the end of one of the messages. If a group ends, consumers too.
create or replace function lonnymq.message_complete(
  p_ids bigint[], p_tokens uuid[], p_results bytea[] default null
)
returns table (id bigint, answer text)
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
  v_history text;
  v_is_sorted boolean;
  v_sorted_ids bigint[];
  v_sorted_tokens uuid[];
  v_sorted_results bytea[];
  v_ids bigint[];
  v_done uuid[];
  v_channels text[];
  v_slots integer[];
  v_watched bigint[];
  v_groups bigint[];
begin
  if cardinality(p_ids) = cardinality(p_tokens) and cardinality(p_ids) <= 10000 then
    perform lonnymq.commit_durably();
  else
    perform lonnymq.guard_pairs(p_ids, p_tokens);
  end if;
  if p_results is not null then
    perform lonnymq.guard_results(p_results, cardinality(p_ids));
  end if;
  select q.history into v_history from lonnymq.queue q where q.only_row;

  -- Among many tokens a message's own is found by a search in halves; not where an id is given twice,
  -- because of its tokens the one of the present lease counts.
  if cardinality(p_ids) > 50 then
    select array_agg(i.id), array_agg(i.token), count(distinct i.id) = count(*),
      case when p_results is not null then array_agg(i.result) end
    into v_sorted_ids, v_sorted_tokens, v_is_sorted, v_sorted_results
    from (
      select i.id, i.token, i.result from unnest(p_ids, p_tokens, p_results) as i (id, token, result)
      where i.id is not null order by i.id
    ) i;
  end if;

  -- The index is walked in the order of ids, whatever the planner believes about the table.
  with gone as (
    delete from lonnymq.message m
    where m.id = any (p_ids) and m.token is not null
      and case when v_is_sorted then v_sorted_tokens[width_bucket(m.id, v_sorted_ids)] = m.token
        else p_ids[array_position(p_tokens, m.token)] = m.id end
    returning m.*
  ), logged as (
    insert into lonnymq.history (
      xid, message_id, created_at, dequeue_at, dequeued_at, finished_at, size, attempt, outcome,
      channel, kind, key, worker, error, headers, content, result
    )
    select (select p.at from lonnymq.history_position() as p (at)),
      g.id, g.created_at, lonnymq.message_due_at(g.dequeue_at, g.priority), g.dequeued_at, v_now, octet_length(g.content),
      g.attempt, 'completed', g.channel, g.kind, g.key, g.worker, null, g.headers,
      case when v_history = 'content' then g.content end,
      case when p_results is null then null
        when v_is_sorted then v_sorted_results[width_bucket(g.id, v_sorted_ids)]
        else p_results[array_position(p_tokens, g.token)] end
    from gone g
    where v_history <> 'off'
  )
  select array_agg(g.id), array_agg(g.token),
    array_agg(g.channel) filter (where g.slot > 0),
    array_agg(g.slot::integer) filter (where g.slot > 0), array_agg(g.id) filter (where g.watched),
    array_agg(g.group_id) filter (where g.group_id is not null)
  into v_ids, v_done, v_channels, v_slots, v_watched, v_groups
  from gone g;

  if v_channels is not null then
    perform lonnymq.slots_free(v_channels, v_slots);
  end if;
  if v_watched is not null or v_groups is not null then
    perform lonnymq.message_ended(v_watched, v_groups, 'completed');
  end if;
  if cardinality(v_done) = cardinality(p_ids) then
    return query select i.id, 'completed' from unnest(p_ids) as i (id);
    return;
  end if;
  return query
  select a.id, a.answer from lonnymq.settle_answers(p_ids, p_tokens, v_ids, v_done, 'completed') a;
end
$$;

comment on function lonnymq.message_complete(bigint[], uuid[], bytea[]) is
'Completes leased messages.';

-- One message, without a single array: see above.
create or replace function lonnymq.message_complete(
  p_id bigint, p_token uuid, p_result bytea default null
)
returns text
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
  v_gone lonnymq.message;
  v_history text;
  v_position xid8;
begin
  if p_result is not null then
    perform lonnymq.guard_results(array[p_result], 1);
  end if;
  perform lonnymq.commit_durably();
  select q.history, lonnymq.history_position(q.generation
      + lonnymq.queue_is_restored(q.written_by, q.xmin, q.table_oid, q.tableoid)::integer)
  into v_history, v_position
  from lonnymq.queue q where q.only_row;
  delete from lonnymq.message m where m.id = p_id and m.token = p_token returning m.* into v_gone;
  if not found then
    return case when exists (select from lonnymq.message m where m.id = p_id) then 'lease_lost'
      else 'not_found' end;
  end if;
  if v_history <> 'off' then
    insert into lonnymq.history (
      xid, message_id, created_at, dequeue_at, dequeued_at, finished_at, size, attempt, outcome,
      channel, kind, key, worker, error, headers, content, result
    )
    values (v_position, v_gone.id, v_gone.created_at,
      lonnymq.message_due_at(v_gone.dequeue_at, v_gone.priority), v_gone.dequeued_at,
      lonnymq.epoch(), octet_length(v_gone.content), v_gone.attempt, 'completed', v_gone.channel,
      v_gone.kind, v_gone.key, v_gone.worker, null, v_gone.headers,
      case when v_history = 'content' then v_gone.content end, p_result);
  end if;
  if v_gone.slot > 0 then
    insert into lonnymq.change (channel, slots, queue_slots, size, can_wait)
    values (v_gone.channel, v_gone.slot & 1, (v_gone.slot >> 1) & 1, -((v_gone.slot >> 2) & 1),
      v_gone.slot & 12 = 0);
  end if;
  if v_gone.watched or v_gone.group_id is not null then
    perform lonnymq.message_ended(case when v_gone.watched then array[v_gone.id] end,
      case when v_gone.group_id is not null then array[v_gone.group_id] end, 'completed');
  end if;
  return 'completed';
end
$$;

comment on function lonnymq.message_complete(bigint, uuid, bytea) is
'Completes one leased message.';
