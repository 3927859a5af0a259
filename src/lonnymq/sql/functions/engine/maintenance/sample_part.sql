-- Sums up attempts by 'queue', 'channel' or 'kind', for the p_limit names with the most attempts and the p_limit names
-- with the most failures.
create or replace function lonnymq.sample_part(
  p_groups lonnymq.attempt_group[], p_by text, p_limit integer
)
returns setof lonnymq.attempt_part
language sql
stable
as $$
  with attempt as materialized (
    select g.*, case p_by when 'channel' then g.channel when 'kind' then g.kind else '' end as name
    from unnest(p_groups) as g
  ), part as materialized (
    select a.name, sum(a.attempts) as attempts,
      sum(case when a.outcome in ('failed', 'expired', 'dead') then a.attempts else 0 end) as failures
    from attempt a group by a.name
  ), chosen as materialized (
    (select p.name from part p order by p.attempts desc, p.name limit p_limit)
    union
    (select p.name from part p where p.failures > 0 order by p.failures desc, p.name limit p_limit)
  ), bucket as materialized (
    select c.name, b.bucket,
      coalesce(sum(a.attempts) filter (where a.wait_bucket = b.bucket), 0)::bigint as waits,
      coalesce(sum(a.attempts) filter (where a.run_bucket = b.bucket), 0)::bigint as runs
    from chosen c
    join attempt a on a.name = c.name
    cross join lateral (
      select distinct v.bucket from (values (a.wait_bucket), (a.run_bucket)) as v (bucket)
    ) b
    group by c.name, b.bucket
  )
  select c.name,
    coalesce(sum(a.attempts) filter (where a.outcome = 'completed'), 0)::bigint,
    coalesce(sum(a.attempts) filter (where a.outcome = 'failed'), 0)::bigint,
    coalesce(sum(a.attempts) filter (where a.outcome = 'deferred'), 0)::bigint,
    coalesce(sum(a.attempts) filter (where a.outcome = 'expired'), 0)::bigint,
    coalesce(sum(a.attempts) filter (where a.outcome = 'dead'), 0)::bigint,
    sum(a.wait_ms)::bigint, sum(a.run_ms)::bigint,
    array(
      select coalesce(b.waits, 0)
      from generate_series(1, cardinality(lonnymq.duration_bounds()) + 1) as i (bucket)
      left join bucket b on b.name = c.name and b.bucket = i.bucket
      order by i.bucket
    ),
    array(
      select coalesce(b.runs, 0)
      from generate_series(1, cardinality(lonnymq.duration_bounds()) + 1) as i (bucket)
      left join bucket b on b.name = c.name and b.bucket = i.bucket
      order by i.bucket
    )
  from chosen c
  join attempt a on a.name = c.name
  group by c.name
$$;

comment on function lonnymq.sample_part(lonnymq.attempt_group[], text, integer) is
'Sums up attempts of the queue, of channels or of kinds.';
