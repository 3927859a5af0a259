-- Shows the outcomes of recent attempts, of one channel or of all channels, grouped by time steps. The
-- function reads the latest `p_most` attempts of the queue that ended at or after `p_from`.
--
-- Answers: a row per step. `looked_at` is the number of attempts that were read, and `from_at` the time
--   from which the rows are complete. Both are the same in all rows. A single row without a step if
--   there are no attempts.
create or replace function lonnymq.history_recent(
  p_from bigint,
  p_step_ms bigint,
  p_channel text default null,
  p_most integer default 5000
)
returns table (
  at bigint, completed bigint, failed bigint, deferred bigint, expired bigint, died bigint,
  wait_ms double precision, run_ms double precision, looked_at bigint, from_at bigint, now_at bigint
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
  perform lonnymq.guard_range('most', p_most, 1, 20000);
  perform lonnymq.guard_range('step_ms', p_step_ms, 1000, 86400000);
  return query
  with ended as materialized (
    select h.channel, h.outcome, h.attempt, h.created_at, h.dequeue_at, h.dequeued_at, h.finished_at
    from lonnymq.history h order by h.xid desc limit p_most
  ), looked as (
    select count(*) as attempts,
      case when count(*) < p_most then p_from else greatest(p_from, min(e.finished_at)) end as since
    from ended e
  ), step as (
    select e.finished_at / p_step_ms * p_step_ms as at,
      count(*) filter (where e.outcome = 'completed') as completed,
      count(*) filter (where e.outcome = 'failed') as failed,
      count(*) filter (where e.outcome = 'deferred') as deferred,
      count(*) filter (where e.outcome = 'expired') as expired,
      count(*) filter (where e.outcome = 'dead') as died,
      avg(greatest(e.dequeued_at - greatest(e.dequeue_at, e.created_at), 0))::float8 as wait_ms,
      avg(greatest(e.finished_at - e.dequeued_at, 0))::float8 as run_ms
    from ended e
    where e.attempt > 0 and e.finished_at >= p_from and (p_channel is null or e.channel = p_channel)
    group by e.finished_at / p_step_ms
  )
  select s.at, s.completed, s.failed, s.deferred, s.expired, s.died, s.wait_ms, s.run_ms,
    l.attempts, l.since, lonnymq.epoch()
  from looked l left join step s on true
  order by s.at;
end
$$;

comment on function lonnymq.history_recent(bigint, bigint, text, integer) is
'Shows the outcomes of recent attempts.';
