-- Housekeeping: takes back leases that ran out, forgets channels that are done with, makes and drops
-- days of history, samples the queue for charts, ends consumers that stand in the way. Safe to run from
-- anywhere, by many, as often as wanted: every few seconds is good.
--
-- Answers: how many leases ran out, how many of their messages died, how many channels were
--   forgotten, how many days of history were dropped.
-- Locks: never waits for one, but for 50 ms now and then for a day of history that has to be made or
--   dropped (history_extend, history_prune). Runs in a transaction of its own.
-- Notifies: when a channel has something due again.
create or replace function lonnymq.queue_maintain(
  p_limit integer default 1000,
  out expired bigint,
  out died bigint,
  out forgotten bigint,
  out partitions_dropped bigint
)
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
  v_now bigint;
begin
  perform lonnymq.guard_range('limit', p_limit, 1, 1000000);
  perform lonnymq.guard_own_transaction('queue_maintain');
  v_now := lonnymq.epoch();
  perform set_config('idle_in_transaction_session_timeout', '10s', true);
  expired := 0;
  died := 0;
  forgotten := 0;
  partitions_dropped := 0;
  if lonnymq.history_validate() then
    return;
  end if;
  perform lonnymq.consumer_terminate_stuck();
  perform lonnymq.queue_stamp();
  perform lonnymq.sample_take(v_now);
  if lonnymq.fold_lock() then
    select s.expired, s.died into expired, died from lonnymq.lease_cleanup(v_now, p_limit) s;
    forgotten := lonnymq.channel_forget(v_now, p_limit);
  end if;
  partitions_dropped := lonnymq.history_prune();
  perform lonnymq.history_extend(v_now, 3);
end
$$;

comment on function lonnymq.queue_maintain(integer) is
'Housekeeping: leases that ran out, channels that are done with, days of history.';
