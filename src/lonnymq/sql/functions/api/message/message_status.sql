-- Tells what became of messages, by id: live messages, dead messages, and ended messages as long as history keeps
-- them.
--
-- Answers: a row per id, in the order of the ids. `state` is `waiting`, `scheduled` (due later), `retrying` (waiting
--   after an attempt that did not succeed), `running`, `completed`, `dead`, `cancelled`, `lapsed` (`expires_at` came before an attempt
--   that completed the message), or `not_found`. A message that was purged while waiting is `cancelled` if an attempt is in history, else `not_found`. Messages in
--   channels that you may not use are `not_found`.
-- Locks: none.
-- Notifies: no.
create or replace function lonnymq.message_status(p_ids bigint[])
returns table (
  id bigint, state text, channel text, kind text, key text, attempt integer, worker text,
  created_at bigint, dequeue_at bigint, dequeued_at bigint, lease_until bigint,
  finished_at bigint, error text, result_size bigint, progress real,
  progress_note text, now_at bigint
)
language plpgsql
stable
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
  v_has_roles boolean := current_user <> session_user;
begin
  if p_ids is null or cardinality(p_ids) > 10000 then
    raise exception using errcode = 'LM001',
      message = format('ids must be an array of at most 10000 ids, got %s', coalesce(cardinality(p_ids)::text, 'null'));
  end if;
  return query
  select i.id, coalesce(f.state, 'not_found'), f.channel, f.kind, f.key, f.attempt, f.worker, f.created_at,
    f.dequeue_at, f.dequeued_at, f.lease_until, f.finished_at, f.error, f.result_size, f.progress, f.progress_note,
    v_now
  from unnest(p_ids) with ordinality as i (id, ordinal)
  left join lateral (
    select s.*
    from (
      select 1 as rank, case
          when m.token is not null then 'running'
          when m.expires_at <= v_now then 'lapsed'
          when m.attempt > 0 then 'retrying'
          when m.dequeue_at > v_now then 'scheduled'
          else 'waiting'
        end as state,
        m.channel, m.kind, m.key, m.attempt, m.worker, m.created_at,
        lonnymq.message_due_at(m.dequeue_at, m.priority) as dequeue_at, m.dequeued_at, m.lease_until,
        null::bigint as finished_at, m.error, null::bigint as result_size,
        m.progress, m.progress_note
      from lonnymq.message m where m.id = i.id
      union all
      select 2, 'dead', d.channel, d.kind, d.key, d.attempt, null, d.created_at,
        lonnymq.message_due_at(d.dequeue_at, d.priority), null, null, d.died_at,
        d.error, null, null, null
      from lonnymq.dead d where d.id = i.id
      union all
      (
        select 3, case when h.outcome in ('completed', 'dead', 'lapsed') then h.outcome else 'cancelled' end,
          h.channel, h.kind, h.key, h.attempt, h.worker, h.created_at, h.dequeue_at, h.dequeued_at, null,
          h.finished_at, h.error, octet_length(h.result)::bigint, null, null
        from lonnymq.history h where h.message_id = i.id
        -- An expression, so that no index by time is walked in search of the message. One fold may take a lease back
        -- and end the message.
        order by h.finished_at + 0 desc, h.xid desc, h.outcome = 'lapsed' desc
        limit 1
      )
    ) s
    where not v_has_roles or lonnymq.channel_permitted(s.channel)
    order by s.rank
    limit 1
  ) f on true
  order by i.ordinal;
end
$$;

comment on function lonnymq.message_status(bigint[]) is
'Tells what became of messages, by id.';

create or replace function lonnymq.message_status(p_id bigint)
returns table (
  id bigint, state text, channel text, kind text, key text, attempt integer, worker text,
  created_at bigint, dequeue_at bigint, dequeued_at bigint, lease_until bigint,
  finished_at bigint, error text, result_size bigint, progress real,
  progress_note text, now_at bigint
)
language sql
stable
as $$
  select * from lonnymq.message_status(array[p_id])
$$;

comment on function lonnymq.message_status(bigint) is
'Tells what became of one message.';
