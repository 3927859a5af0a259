-- Stores the state of the queue for charts, unless the last sample is younger than 5 seconds.
-- queue_maintain calls this function. The sample counts the attempts that ended since the sample before,
-- by the snapshot in positions: up to 200,000, and each once. After a pause of more than 5 minutes
-- nothing is counted, and charts have a gap. The channels and kinds with the most attempts and with the
-- most failures are stored separately, by the minute. Samples are kept for 25 hours. The totals of all
-- channels are kept as long as the channels are.
--
-- Locks: a single sampler at a time, by a try-lock.
create or replace function lonnymq.sample_take(p_now bigint)
returns void
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
  v_last lonnymq.sample;
  v_figures record;
  v_groups lonnymq.attempt_group[];
  v_seen pg_snapshot;
begin
  if not pg_try_advisory_xact_lock('lonnymq.queue'::regclass::oid::integer, 2) then
    return;
  end if;
  select * into v_last from lonnymq.sample s order by s.at desc limit 1;
  if v_last.at > p_now - 5000 and v_last.at <= p_now then
    return;
  end if;
  if v_last.at < p_now - 300000 then
    v_last := null;
  end if;
  -- The clock was set back: what it says now comes after all that was counted.
  delete from lonnymq.sample s where s.at > p_now;
  select * into v_figures from lonnymq.queue_metrics(100);

  -- In one statement: what is counted now is just what the snapshot shows.
  select array(select g from lonnymq.sample_read(v_last.seen) as g), lonnymq.history_snapshot()
  into v_groups, v_seen;
  perform lonnymq.sample_add_minute(v_groups, p_now);
  perform lonnymq.sample_add_totals(v_groups, p_now);
  insert into lonnymq.sample (
    at, seen, last_id, created, completed, failed, deferred, expired, died, waiting, running, dead,
    oldest_ms, workers, whole, all_channels
  )
  select p_now, v_seen, v_figures.last_id,
    greatest(v_figures.last_id - coalesce(v_last.last_id, v_figures.last_id), 0),
    coalesce(sum(g.attempts) filter (where g.outcome = 'completed'), 0),
    coalesce(sum(g.attempts) filter (where g.outcome = 'failed'), 0),
    coalesce(sum(g.attempts) filter (where g.outcome = 'deferred'), 0),
    coalesce(sum(g.attempts) filter (where g.outcome = 'expired'), 0),
    coalesce(sum(g.attempts) filter (where g.outcome = 'dead'), 0),
    v_figures.waiting, v_figures.running, v_figures.dead,
    case when v_figures.oldest_at is not null then p_now - greatest(v_figures.oldest_at, 0) end,
    v_figures.workers, coalesce(sum(g.attempts), 0) < 200000, count(distinct g.channel) <= 100
  from unnest(v_groups) as g
  on conflict (at) do nothing;
  delete from lonnymq.sample s where s.at = any (array(
    select o.at from lonnymq.sample o where o.at < p_now - 90000000 order by o.at limit 500
  ));
  delete from lonnymq.channel_sample s where s.ctid = any (array(
    select o.ctid from lonnymq.channel_sample o
    where o.at < p_now - 90000000 order by o.at limit 500
  ));
  delete from lonnymq.kind_sample s where s.ctid = any (array(
    select o.ctid from lonnymq.kind_sample o
    where o.at < p_now - 90000000 order by o.at limit 500
  ));
end
$$;

comment on function lonnymq.sample_take(bigint) is
'Writes down how the queue stands, for charts.';
