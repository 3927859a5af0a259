-- Lists the ids of dead messages, after `p_after`. Use this function to process many dead messages
-- without reading their contents.
create or replace function lonnymq.dead_ids(
  p_channel text default null,
  p_kind text default null,
  p_after bigint default null,
  p_limit integer default 1000
)
returns table (id bigint)
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
  select d.id
  from lonnymq.dead d
  where (p_channel is null or d.channel = p_channel) and (p_kind is null or d.kind = p_kind)
    and (p_after is null or d.id > p_after)
  order by d.id
  limit p_limit;
end
$$;

comment on function lonnymq.dead_ids(text, text, bigint, integer) is
'Lists the ids of dead messages.';
