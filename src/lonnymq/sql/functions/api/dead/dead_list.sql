-- Lists dead messages by id, after `p_after`.
create or replace function lonnymq.dead_list(
  p_channel text default null,
  p_kind text default null,
  p_after bigint default null,
  p_limit integer default 100
)
returns table (
  id bigint, channel text, content bytea, state bytea, attempt integer, kind text, headers jsonb,
  key text, created_at bigint, dequeue_at bigint, died_at bigint, error text
)
language plpgsql
stable
set plan_cache_mode = force_custom_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
#variable_conflict use_column
begin
  perform lonnymq.guard_range('limit', p_limit, 1, 10000);
  return query
  select d.id, d.channel, d.content, d.state, d.attempt, d.kind, d.headers, d.key, d.created_at,
    lonnymq.message_due_at(d.dequeue_at, d.priority), d.died_at, d.error
  from lonnymq.dead d
  where (p_channel is null or d.channel = p_channel) and (p_kind is null or d.kind = p_kind)
    and (p_after is null or d.id > p_after)
  order by d.id
  limit p_limit;
end
$$;

comment on function lonnymq.dead_list(text, text, bigint, integer) is
'Lists dead messages.';
