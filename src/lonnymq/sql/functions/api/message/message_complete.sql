-- Ends leases: done. Inside the caller's transaction, so that the work and its completion commit
-- together.
--
-- Answers: completed; lease_lost (the token is not that of the present lease); not_found.
-- Locks: the messages, in the order of their ids, until the transaction ends. Never a channel.
-- Notifies: no.
create or replace function lonnymq.message_complete(p_ids bigint[], p_tokens uuid[])
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
  v_ids bigint[];
  v_done uuid[];
  v_channels text[];
  v_slots integer[];
begin
  if cardinality(p_ids) = cardinality(p_tokens) and cardinality(p_ids) <= 10000 then
    perform lonnymq.commit_durably();
  else
    perform lonnymq.guard_pairs(p_ids, p_tokens);
  end if;
  select q.history into v_history from lonnymq.queue q where q.only_row;

  -- Among many tokens a message's own is found by a search in halves; not where an id is given twice,
  -- because of its tokens the one of the present lease counts.
  if cardinality(p_ids) > 50 then
    select array_agg(i.id), array_agg(i.token), count(distinct i.id) = count(*)
    into v_sorted_ids, v_sorted_tokens, v_is_sorted
    from (
      select i.id, i.token from unnest(p_ids, p_tokens) as i (id, token)
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
      channel, kind, key, worker, error, headers, content
    )
    select (select p.at from lonnymq.history_position() as p (at)),
      g.id, g.created_at, g.dequeue_at, g.dequeued_at, v_now, octet_length(g.content),
      g.attempt, 'completed', g.channel, g.kind, g.key, g.worker, null, g.headers,
      case when v_history = 'content' then g.content end
    from gone g
    where v_history <> 'off'
  )
  select array_agg(g.id), array_agg(g.token),
    array_agg(g.channel) filter (where g.slot > 0),
    array_agg(g.slot::integer) filter (where g.slot > 0)
  into v_ids, v_done, v_channels, v_slots
  from gone g;

  if v_channels is not null then
    insert into lonnymq.change (channel, slots, queue_slots, size)
    select o.channel, sum(o.slot & 1), sum((o.slot >> 1) & 1), -sum(o.slot >> 2)
    from unnest(v_channels, v_slots) as o (channel, slot)
    group by o.channel;
  end if;
  if cardinality(v_done) = cardinality(p_ids) then
    return query select i.id, 'completed' from unnest(p_ids) as i (id);
    return;
  end if;
  return query
  select a.id, a.answer from lonnymq.settle_answers(p_ids, p_tokens, v_ids, v_done, 'completed') a;
end
$$;

comment on function lonnymq.message_complete(bigint[], uuid[]) is
'Ends leases: done.';

-- One message, without a single array: see above.
create or replace function lonnymq.message_complete(p_id bigint, p_token uuid)
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
      channel, kind, key, worker, error, headers, content
    )
    values (v_position, v_gone.id, v_gone.created_at, v_gone.dequeue_at, v_gone.dequeued_at,
      lonnymq.epoch(), octet_length(v_gone.content), v_gone.attempt, 'completed', v_gone.channel,
      v_gone.kind, v_gone.key, v_gone.worker, null, v_gone.headers,
      case when v_history = 'content' then v_gone.content end);
  end if;
  if v_gone.slot > 0 then
    insert into lonnymq.change (channel, slots, queue_slots, size)
    values (v_gone.channel, v_gone.slot & 1, (v_gone.slot >> 1) & 1, -(v_gone.slot >> 2));
  end if;
  return 'completed';
end
$$;

comment on function lonnymq.message_complete(bigint, uuid) is
'Ends one lease: done.';
