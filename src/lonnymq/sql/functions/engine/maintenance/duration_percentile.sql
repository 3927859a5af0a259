-- The duration in ms that a share of counted durations does not exceed, estimated within a bucket. Null without counts.
create or replace function lonnymq.duration_percentile(p_counts bigint[], p_share double precision)
returns bigint
language sql
immutable
as $$
  select (b.first_ms + (b.last_ms - b.first_ms)
    * (p_share * b.total - b.below) / greatest(b.count, 1))::bigint
  from (
    select c.count, c.bucket, sum(c.count) over () as total,
      coalesce(sum(c.count) over (order by c.bucket rows between unbounded preceding and 1 preceding), 0)
        as below,
      coalesce((lonnymq.duration_bounds())[c.bucket - 1], 0) as first_ms,
      coalesce((lonnymq.duration_bounds())[c.bucket], (lonnymq.duration_bounds())[c.bucket - 1])
        as last_ms
    from unnest(p_counts) with ordinality as c (count, bucket)
  ) b
  where b.count > 0 and b.below + b.count >= p_share * b.total
  order by b.bucket limit 1
$$;

comment on function lonnymq.duration_percentile(bigint[], double precision) is
'The duration that a share of counted durations does not exceed.';
