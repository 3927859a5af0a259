-- Runs maintenance: takes back leases that ran out, ends messages that expired, deletes retired and idle channels, creates and drops
-- partitions of history, takes samples for charts, and ends sessions of stuck consumers. Several workers
-- may call this function at the same time. Call the function every few seconds.
--
-- Answers: the number of leases that ran out, of messages that died, of deleted channels, and of dropped
--   days of history.
-- Locks: without waiting, except that some calls wait up to 50 ms to create or drop a partition of
--   history. The function needs a transaction without other statements.
-- Notifies: if a channel has messages due again.
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
    -- A message that came back from a lease, or was committed, after its expires_at.
    perform lonnymq.message_lapse(-9223372036854775808, v_now, p_limit);
    delete from lonnymq.key_hold h where h.ctid = any (array(
      select h.ctid from lonnymq.key_hold h where h.until_at <= v_now
      order by h.until_at limit p_limit for update skip locked));
    forgotten := lonnymq.channel_forget(v_now, p_limit);
    perform lonnymq.kind_filter_drop(array_agg(f.id))
    from lonnymq.kind_filter f where f.used_at < v_now - 3600000 having count(*) > 0;
  end if;
  perform lonnymq.group_review(v_now);
  -- Whoever has changed the partitions holds the tables until its transaction ends.
  if pg_try_advisory_xact_lock('lonnymq.queue'::regclass::oid::integer, 6) then
    partitions_dropped := lonnymq.history_prune();
    perform lonnymq.history_extend(v_now, 3);
  end if;
end
$$;

comment on function lonnymq.queue_maintain(integer) is
'Runs maintenance: leases that ran out, unused channels, partitions of history, samples.';
