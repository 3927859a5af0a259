-- Lists the policies of channels by name, after `p_after`: the settings of the channel, or the defaults
-- that were valid when the channel was created. The first row has no name and holds the defaults of the
-- queue. The defaults apply to every channel that is not listed.
create or replace function lonnymq.channel_policy_list(
  p_after text default null,
  p_limit integer default 1000
)
returns table (
  channel text, max_concurrency integer, min_interval_ms bigint, burst integer, max_size bigint,
  when_full text, weight integer, max_attempts integer, paused boolean
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
begin
  perform lonnymq.guard_range('limit', p_limit, 1, 10000);
  return query
  select ''::text, q.default_max_concurrency, q.default_min_interval_ms, q.default_burst,
    q.default_max_size, q.default_when_full, q.default_weight, q.default_max_attempts, false
  from lonnymq.queue q
  where q.only_row and p_after is null;
  return query
  with named as materialized (
    select n.name from (
      (
        select c.name from lonnymq.channel c
        where c.name > coalesce(p_after, '') order by c.name limit p_limit
      )
      union
      (
        select s.name from lonnymq.channel_setting s
        where s.name > coalesce(p_after, '') order by s.name limit p_limit
      )
    ) n
    order by n.name limit p_limit
  )
  select n.name, p.max_concurrency, p.min_interval_ms, p.burst, p.max_size, p.when_full,
    p.weight, p.max_attempts, p.paused
  from named n
  cross join lateral lonnymq.channel_policy(n.name) p
  order by n.name;
end
$$;

comment on function lonnymq.channel_policy_list(text, integer) is
'Lists the policies of channels and the defaults of the queue.';
