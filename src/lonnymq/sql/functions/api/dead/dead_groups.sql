-- Groups the newest `p_most` dead messages by the common part of their errors.
create or replace function lonnymq.dead_groups(
  p_channel text default null, p_kind text default null, p_most integer default 10000
)
returns table (
  error_group text, error text, messages bigint, channels bigint, example_channels text[],
  kinds text[], first_at bigint, last_at bigint, newest_id bigint, looked_at bigint, now_at bigint
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
  perform lonnymq.guard_range('most', p_most, 1, 10000);
  return query
  with looked as materialized (
    select d.id, d.channel, d.kind, d.died_at, lonnymq.error_group(d.error) as error
    from lonnymq.dead d
    where p_channel is null or d.channel = p_channel
    order by d.id desc limit p_most
  ), grouped as (
    select l.error, count(*) as messages, count(distinct l.channel) as channels,
      (array_agg(distinct l.channel))[1:5] as example_channels,
      (array_agg(distinct l.kind) filter (where l.kind is not null))[1:5] as kinds,
      min(l.died_at) as first_at, max(l.died_at) as last_at, max(l.id) as newest_id
    from looked l
    where p_kind is null or l.kind = p_kind
    group by l.error
    order by count(*) desc, l.error limit 200
  )
  select md5(g.error), g.error, g.messages, g.channels, g.example_channels,
    coalesce(g.kinds, '{}'), g.first_at, g.last_at, g.newest_id, t.looked_at, lonnymq.epoch()
  from (select count(*) as looked_at from looked l) t
  left join grouped g on true
  order by g.messages desc, g.error;
end
$$;

comment on function lonnymq.dead_groups(text, text, integer) is
'Groups dead messages by the common part of their errors.';
