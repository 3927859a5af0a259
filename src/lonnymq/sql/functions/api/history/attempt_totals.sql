-- Shows how many attempts have ended since the queue was installed: of the whole queue, and of the channels in
-- `p_channels`. The numbers only grow, so they suit counters of a monitoring system. Samples of `queue_maintain` count
-- the attempts: nothing is counted while no maintenance runs for 5 minutes, or where the queue keeps no history.
--
-- Answers: a row for the queue, in which `channel` is '', and a row per channel that has had an attempt. `waits` and
--   `runs` are of the queue: how many attempts waited and ran for at most `bounds_ms`, and in a last element for longer.
create or replace function lonnymq.attempt_totals(p_channels text[] default null)
returns table (
  channel text, completed bigint, failed bigint, deferred bigint, expired bigint, died bigint,
  wait_ms bigint, run_ms bigint, waits bigint[], runs bigint[], bounds_ms bigint[]
)
language sql
stable
as $$
  select t.channel, t.completed, t.failed, t.deferred, t.expired, t.died, t.wait_ms, t.run_ms,
    t.waits, t.runs, lonnymq.duration_bounds()
  from unnest(array[''] || p_channels) as n (name)
  cross join lateral (
    select * from lonnymq.channel_total t where t.channel = n.name limit 1
  ) t
$$;

comment on function lonnymq.attempt_totals(text[]) is
'Shows how many attempts have ended, for counters of a monitoring system.';
