-- Completes the messages of a claim with tokens in a range. The same as message_complete, without a
-- token per message.
-- Answers: the number of messages.
create or replace function lonnymq.claim_complete(p_ids bigint[], p_low uuid, p_high uuid)
returns bigint
language plpgsql
as $$
#variable_conflict use_column
declare
  v_now bigint := lonnymq.epoch();
  v_history text;
  v_count bigint;
  v_channels text[];
  v_slots integer[];
  v_watched bigint[];
  v_groups bigint[];
begin
  perform lonnymq.commit_durably();
  select q.history into v_history from lonnymq.queue q where q.only_row;

  -- The index is walked in the order of ids, whatever the planner believes about the table.
  with gone as (
    delete from lonnymq.message m
    where m.id = any (p_ids) and m.token between p_low and p_high
    returning m.id, m.created_at, lonnymq.message_due_at(m.dequeue_at, m.priority) as dequeue_at,
      m.dequeued_at, octet_length(m.content) as size,
      m.attempt, m.slot, m.channel, m.kind, m.key, m.worker, m.headers, m.watched, m.group_id,
      case when v_history = 'content' then m.content end as content
  ), logged as (
    insert into lonnymq.history (
      xid, message_id, created_at, dequeue_at, dequeued_at, finished_at, size, attempt, outcome,
      channel, kind, key, worker, error, headers, content
    )
    select (select p.at from lonnymq.history_position() as p (at)),
      g.id, g.created_at, g.dequeue_at, g.dequeued_at, v_now, g.size, g.attempt, 'completed',
      g.channel, g.kind, g.key, g.worker, null, g.headers, g.content
    from gone g
    where v_history <> 'off'
  )
  select count(*), array_agg(g.channel) filter (where g.slot > 0),
    array_agg(g.slot::integer) filter (where g.slot > 0), array_agg(g.id) filter (where g.watched),
    array_agg(g.group_id) filter (where g.group_id is not null)
  into v_count, v_channels, v_slots, v_watched, v_groups
  from gone g;

  if v_channels is not null then
    perform lonnymq.slots_free(v_channels, v_slots);
  end if;
  if v_watched is not null or v_groups is not null then
    perform lonnymq.message_ended(v_watched, v_groups, 'completed');
  end if;
  return v_count;
end
$$;

comment on function lonnymq.claim_complete(bigint[], uuid, uuid) is
'Completes messages of a claim.';
