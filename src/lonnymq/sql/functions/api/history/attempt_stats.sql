-- Shows the outcomes and durations of attempts since a given time, by channel or by kind. Samples hold the 100 busiest
-- and the 100 most failing channels and kinds of every few seconds, for 25 hours.
--
-- Answers: a row per channel or kind, the busiest first, or the names of `p_names`. The kind '' is of messages without a
--   kind. Durations are in ms: the mean, and percentiles that are estimated within the buckets 1, 2, 5, 10 … ms.
create or replace function lonnymq.attempt_stats(
  p_by text, p_from bigint, p_names text[] default null, p_limit integer default 100
)
returns table (
  name text, completed bigint, failed bigint, deferred bigint, expired bigint, died bigint,
  wait_mean_ms bigint, wait_p50_ms bigint, wait_p95_ms bigint, wait_p99_ms bigint,
  run_mean_ms bigint, run_p50_ms bigint, run_p95_ms bigint, run_p99_ms bigint, now_at bigint
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
  perform lonnymq.guard_range('limit', p_limit, 1, 1000);
  if p_by is null or p_by not in ('channel', 'kind') then
    raise exception using errcode = 'LM001',
      message = format('there are no statistics by %s', quote_nullable(left(p_by, 100))),
      hint = 'Statistics: channel, kind.';
  end if;
  return query
  with minute as materialized (
    (
      select s.channel as name, s.* from lonnymq.channel_sample s
      where p_by = 'channel' and p_names is null and s.at >= p_from order by s.at desc limit 50000
    )
    union all
    (
      select n.name, s.* from unnest(p_names) as n (name)
      cross join lateral (
        select * from lonnymq.channel_sample s
        where s.channel = n.name and s.at >= p_from order by s.at desc limit 1600
      ) s
      where p_by = 'channel'
    )
    union all
    (
      select s.kind, s.* from lonnymq.kind_sample s
      where p_by = 'kind' and (p_names is null or s.kind = any (p_names)) and s.at >= p_from
      order by s.at desc limit 50000
    )
  ), part as materialized (
    select m.name, sum(m.completed)::bigint as completed, sum(m.failed)::bigint as failed,
      sum(m.deferred)::bigint as deferred, sum(m.expired)::bigint as expired,
      sum(m.died)::bigint as died, sum(m.wait_ms) as wait_ms, sum(m.run_ms) as run_ms,
      greatest(sum(m.completed + m.failed + m.deferred + m.expired + m.died), 1) as attempts
    from minute m
    group by m.name order by attempts desc, m.name limit p_limit
  ), duration as materialized (
    select m.name, lonnymq.duration_total(array_agg(m.waits)) as waits,
      lonnymq.duration_total(array_agg(m.runs)) as runs
    from part p join minute m on m.name = p.name
    where m.waits is not null
    group by m.name
  )
  select p.name, p.completed, p.failed, p.deferred, p.expired, p.died,
    (p.wait_ms / p.attempts)::bigint, lonnymq.duration_percentile(d.waits, 0.5),
    lonnymq.duration_percentile(d.waits, 0.95), lonnymq.duration_percentile(d.waits, 0.99),
    (p.run_ms / p.attempts)::bigint, lonnymq.duration_percentile(d.runs, 0.5),
    lonnymq.duration_percentile(d.runs, 0.95), lonnymq.duration_percentile(d.runs, 0.99),
    lonnymq.epoch()
  from part p left join duration d on d.name = p.name
  order by p.attempts desc, p.name;
end
$$;

comment on function lonnymq.attempt_stats(text, bigint, text[], integer) is
'Shows the outcomes and durations of attempts since a given time, by channel or by kind.';
