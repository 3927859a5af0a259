-- Lists samples since a given time, grouped by time steps. Counts are summed, and other values are the
-- last values of the step. Steps without a sample are left out.
create or replace function lonnymq.sample_list(p_from bigint, p_step_ms bigint)
returns table (
  at bigint, created bigint, completed bigint, failed bigint, deferred bigint, expired bigint,
  died bigint, waiting bigint, running bigint, dead bigint, oldest_ms bigint, workers integer,
  whole boolean
)
language plpgsql
stable
as $$
#variable_conflict use_column
begin
  perform lonnymq.guard_range('step_ms', p_step_ms, 1000, 86400000);
  return query
  select s.at / p_step_ms * p_step_ms, sum(s.created)::bigint, sum(s.completed)::bigint,
    sum(s.failed)::bigint, sum(s.deferred)::bigint, sum(s.expired)::bigint, sum(s.died)::bigint,
    (array_agg(s.waiting order by s.at desc))[1], (array_agg(s.running order by s.at desc))[1],
    (array_agg(s.dead order by s.at desc))[1], (array_agg(s.oldest_ms order by s.at desc))[1],
    (array_agg(s.workers order by s.at desc))[1], bool_and(s.whole)
  from (
    select * from lonnymq.sample s where s.at >= p_from order by s.at desc limit 20000
  ) s
  group by s.at / p_step_ms
  order by s.at / p_step_ms;
end
$$;

comment on function lonnymq.sample_list(bigint, bigint) is
'Lists samples since a given time, grouped by time steps.';
