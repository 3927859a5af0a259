-- Ends messages without an attempt of theirs: on request, waiting or leased (p_outcome `cancelled`), or because they
-- wait and their expires_at has come (`lapsed`). Deletes them, writes history with this outcome, and the changes that a
-- removal and a completion would write. The token of a lease is worthless at once, because its message is gone.
-- History of a message that was waiting has attempt 0: no attempt was running. Messages that another transaction
-- holds stay.
--
-- Answers: the messages that ended.
-- Notifies: if a lease has ended that counted in a limit, because nobody else tells consumers of the free slot.
create or replace function lonnymq.message_end(p_ids bigint[], p_now bigint, p_outcome text)
returns bigint[]
language plpgsql
as $$
declare
  v_is_fixed boolean := lonnymq.snapshot_is_fixed();
  v_history text;
  v_ids bigint[];
  v_has_slots boolean;
  v_watched bigint[];
  v_groups bigint[];
begin
  select q.history into v_history from lonnymq.queue q where q.only_row;
  select array_agg(h.id) into v_ids
  from (
    select m.id from lonnymq.message m
    where m.id = any (p_ids)
      and (p_outcome = 'cancelled' or (m.token is null and m.expires_at <= p_now))
    order by m.id
    for update skip locked
  ) h;
  with gone as (
    delete from lonnymq.message m where m.id = any (v_ids) returning m.*
  ), logged as (
    insert into lonnymq.history (
      xid, message_id, created_at, dequeue_at, dequeued_at, finished_at, size, attempt, outcome,
      channel, kind, key, worker, error, headers, content
    )
    select (select p.at from lonnymq.history_position() as p (at)), g.id, g.created_at,
      lonnymq.message_due_at(g.dequeue_at, g.priority), coalesce(g.dequeued_at, p_now), p_now, octet_length(g.content),
      case when g.token is not null then g.attempt else 0 end, p_outcome, g.channel, g.kind, g.key,
      g.worker, null, g.headers, case when v_history = 'content' then g.content end
    from gone g
    where v_history <> 'off'
  ), counted as (
    select g.channel, count(*) filter (where g.token is null) as removed,
      coalesce(sum(g.slot & 1), 0) as slots, coalesce(sum((g.slot >> 1) & 1), 0) as queue_slots,
      coalesce(sum((g.slot >> 2) & 1), 0) as sizes
    from gone g
    group by g.channel
  ), changed as (
    insert into lonnymq.change (channel, slots, queue_slots, size, added, notified, can_wait)
    select c.channel, c.slots, c.queue_slots,
      -c.sizes - case when s.is_sized then c.removed else 0 end,
      case when s.is_sized then 0 else -c.removed end, c.slots + c.queue_slots > 0,
      c.slots + c.queue_slots + c.sizes = 0
    from counted c
    cross join lateral (
      select s.max_size is not null or v_is_fixed as is_sized
      from lonnymq.channel_capacity(c.channel) s
    ) s
    where c.removed + c.slots + c.queue_slots + c.sizes > 0
    returning change.notified
  )
  select (select bool_or(c.notified) from changed c), array_agg(g.id) filter (where g.watched),
    array_agg(g.group_id) filter (where g.group_id is not null)
  into v_has_slots, v_watched, v_groups from gone g;
  if v_has_slots then
    perform pg_notify('lonnymq', '');
  end if;
  if v_watched is not null or v_groups is not null then
    perform lonnymq.message_ended(v_watched, v_groups, 'cancelled');
  end if;
  return coalesce(v_ids, '{}');
end
$$;

comment on function lonnymq.message_end(bigint[], bigint, text) is
'Ends messages on request, or because they have expired.';
