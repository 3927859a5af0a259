-- Shows the first messages of a channel, including leased messages. The function leases nothing.
create or replace function lonnymq.message_peek(p_channel text, p_limit integer default 10)
returns table (
  id bigint, channel text, content bytea, state bytea, attempt integer, kind text, headers jsonb,
  key text, created_at bigint, dequeue_at bigint, leased boolean, lease_until bigint,
  worker text, error text
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
  perform lonnymq.guard_text('channel', p_channel);
  perform lonnymq.guard_range('limit', p_limit, 1, 10000);
  return query
  select m.id, m.channel, m.content, m.state, m.attempt, m.kind, m.headers, m.key, m.created_at,
    lonnymq.message_due_at(m.dequeue_at, m.priority), m.token is not null, m.lease_until, m.worker, m.error
  from lonnymq.message m
  where m.channel = p_channel
  order by m.dequeue_at, m.id
  limit p_limit;
end
$$;

comment on function lonnymq.message_peek(text, integer) is
'Shows the first messages of a channel and leases nothing.';
