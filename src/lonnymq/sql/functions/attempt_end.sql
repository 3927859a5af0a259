-- Ends attempts that did not succeed, of messages whose rows the caller has locked: back into the
-- line at the moment given, or dead. Writes history and the notes. Shared by message_fail and
-- lease_expire.
create or replace function lonnymq.attempt_end(
  p_ids bigint[],
  p_died boolean[],
  p_next_ats bigint[],
  p_errors text[],
  p_outcome text,
  p_now bigint
)
returns void
language plpgsql
as $$
#variable_conflict use_column
declare
  v_history text;
begin
  select q.history into v_history from lonnymq.queue q where q.only_row;

  insert into lonnymq.history (
    xid, message_id, created_at, dequeue_at, dequeued_at, finished_at, size, attempt, outcome,
    channel, kind, name, worker, error, headers, content
  )
  select (select p.at from lonnymq.history_position() as p (at)),
    m.id, m.created_at, m.dequeue_at, m.dequeued_at, p_now, octet_length(m.content),
    m.attempt, case when i.died then 'dead' else p_outcome end, m.channel, m.kind, m.name,
    m.worker, i.error, m.headers, case when v_history = 'content' then m.content end
  from unnest(p_ids, p_died, p_errors) as i (id, died, error)
  cross join lateral (select * from lonnymq.message m where m.id = i.id limit 1) m
  where v_history <> 'off';

  insert into lonnymq.note (channel, dequeue_at, message_id, slots, queue_slots, size, told)
  select m.channel, case when not i.died then i.next_at end, m.id, m.slot & 1, m.slot >> 1,
    case when i.died and s.max_size is not null then -1 else 0 end,
    not i.died and lonnymq.channel_tell(m.channel, i.next_at)
  from unnest(p_ids, p_died, p_next_ats) as i (id, died, next_at)
  cross join lateral (select * from lonnymq.message m where m.id = i.id limit 1) m
  cross join lateral lonnymq.channel_capacity(m.channel) s
  where not i.died or m.slot > 0 or s.max_size is not null;

  -- One by one: no join whose order a stale statistic could turn round.
  for v_at in 1 .. cardinality(p_ids) loop
    if p_died[v_at] then
      with gone as (
        delete from lonnymq.message m where m.id = p_ids[v_at] returning m.*
      )
      insert into lonnymq.dead (
        id, dequeue_at, created_at, died_at, attempt, channel, kind, name, headers, state, error,
        content
      )
      select g.id, g.dequeue_at, g.created_at, p_now, g.attempt, g.channel, g.kind, g.name,
        g.headers, g.state, p_errors[v_at], g.content
      from gone g;
    else
      update lonnymq.message m
      set token = null, lease_until = null, dequeued_at = null, worker = null, slot = 0,
        dequeue_at = p_next_ats[v_at], error = p_errors[v_at]
      where m.id = p_ids[v_at];
    end if;
  end loop;
end
$$;

comment on function lonnymq.attempt_end(bigint[], boolean[], bigint[], text[], text, bigint) is
'Ends attempts that did not succeed: back into the line, or dead.';
