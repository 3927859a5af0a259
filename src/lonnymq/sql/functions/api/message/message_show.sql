-- Shows a live or dead message with the first bytes of content and state.
--
-- Answers: a row, or no row if there is no such message.
create or replace function lonnymq.message_show(p_id bigint, p_bytes integer default 16384)
returns table (
  id bigint, channel text, kind text, key text, attempt integer, max_attempts integer,
  created_at bigint, dequeue_at bigint, dequeued_at bigint, lease_until bigint, died_at bigint,
  leased boolean, worker text, headers jsonb, error text, content bytea, size bigint,
  state bytea, state_size bigint, now_at bigint
)
language plpgsql
stable
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
#variable_conflict use_column
begin
  return query
  select g.id, g.channel, g.kind, g.key, g.attempt, coalesce(g.max_attempts, p.max_attempts), g.created_at, g.dequeue_at,
    g.dequeued_at, g.lease_until, g.died_at, g.leased, g.worker, g.headers, g.error,
    substring(g.content for p_bytes), octet_length(g.content)::bigint,
    substring(g.state for p_bytes), octet_length(g.state)::bigint, lonnymq.epoch()
  from (
    select m.id, m.channel, m.kind, m.key, m.attempt, m.created_at,
      lonnymq.message_due_at(m.dequeue_at, m.priority) as dequeue_at, m.dequeued_at,
      m.lease_until, null::bigint as died_at, m.token is not null as leased, m.worker, m.headers,
      m.error, m.content, m.state, m.max_attempts
    from lonnymq.message m where m.id = p_id
    union all
    select d.id, d.channel, d.kind, d.key, d.attempt, d.created_at,
      lonnymq.message_due_at(d.dequeue_at, d.priority), null,
      null, d.died_at, false, null, d.headers, d.error, d.content, d.state, d.max_attempts
    from lonnymq.dead d where d.id = p_id
  ) g
  cross join lateral lonnymq.channel_policy(g.channel) p
  limit 1;
end
$$;

comment on function lonnymq.message_show(bigint, integer) is
'Shows a live or dead message.';
