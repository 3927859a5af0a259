-- Lists the outcomes of a channel's attempts since a given time, grouped by time steps. Samples hold the
-- busiest channels separately.
--
-- Answers: a row per step. `all_channels` is the same in all rows and false if attempts may be missing:
--   more channels were busy than a sample holds, or nothing took samples. `from_at` is the time of the
--   first sample. One row without a step if there are no samples.
create or replace function lonnymq.channel_sample_list(
  p_channel text, p_from bigint, p_step_ms bigint
)
returns table (
  at bigint, completed bigint, failed bigint, deferred bigint, expired bigint, died bigint,
  wait_ms bigint, run_ms bigint, all_channels boolean, from_at bigint, now_at bigint
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
  perform lonnymq.guard_range('step_ms', p_step_ms, 60000, 86400000);
  return query
  with known as (
    select min(s.at) as since, bool_and(s.all_channels and s.whole) as are_all
    from (
      select * from lonnymq.sample s where s.at >= p_from order by s.at desc limit 20000
    ) s
  ), step as (
    select s.at / p_step_ms * p_step_ms as at, sum(s.completed)::bigint as completed,
      sum(s.failed)::bigint as failed, sum(s.deferred)::bigint as deferred,
      sum(s.expired)::bigint as expired, sum(s.died)::bigint as died,
      sum(s.wait_ms)::bigint as wait_ms, sum(s.run_ms)::bigint as run_ms
    from lonnymq.channel_sample s
    where s.channel = p_channel and s.at >= p_from
    group by s.at / p_step_ms
  )
  select s.at, s.completed, s.failed, s.deferred, s.expired, s.died, s.wait_ms, s.run_ms,
    coalesce(k.are_all, false), k.since, lonnymq.epoch()
  from known k left join step s on true
  order by s.at;
end
$$;

comment on function lonnymq.channel_sample_list(text, bigint, bigint) is
'Lists the outcomes of a channel''s attempts since a given time, from samples.';
