-- Stores the state of the queue for charts, unless the last sample is younger than 5 seconds.
-- queue_maintain calls this function. The sample counts the attempts that ended since the sample before,
-- by the snapshot in positions: up to 200,000, and each once. After a pause of more than 5 minutes
-- nothing is counted, and charts have a gap. The 100 channels with the most attempts are stored
-- separately, by the minute. Samples are kept for 25 hours.
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

  with ended as materialized (
    (
      select h.channel, h.outcome,
        greatest(h.dequeued_at - greatest(h.dequeue_at, h.created_at), 0) as wait_ms,
        greatest(h.finished_at - h.dequeued_at, 0) as run_ms
      from lonnymq.history h
      where h.xid >= pg_snapshot_xmax(v_last.seen) and h.attempt > 0
      limit 200000
    )
    union all
    (
      select h.channel, h.outcome,
        greatest(h.dequeued_at - greatest(h.dequeue_at, h.created_at), 0),
        greatest(h.finished_at - h.dequeued_at, 0)
      from pg_snapshot_xip(v_last.seen) as open (xid)
      cross join lateral (
        select * from lonnymq.history h where h.xid = open.xid and h.attempt > 0 limit 100000
      ) h
      limit 100000
    )
  ), part as materialized (
    select e.channel,
      count(*) filter (where e.outcome = 'completed') as completed,
      count(*) filter (where e.outcome = 'failed') as failed,
      count(*) filter (where e.outcome = 'deferred') as deferred,
      count(*) filter (where e.outcome = 'expired') as expired,
      count(*) filter (where e.outcome = 'dead') as died,
      count(*) as attempts, sum(e.wait_ms)::bigint as wait_ms, sum(e.run_ms)::bigint as run_ms
    from ended e
    group by e.channel
  ), told_apart as (
    insert into lonnymq.channel_sample as s (
      channel, at, completed, failed, deferred, expired, died, wait_ms, run_ms
    )
    select p.channel, p_now / 60000 * 60000, p.completed, p.failed, p.deferred, p.expired, p.died,
      p.wait_ms, p.run_ms
    from (select * from part p order by p.attempts desc, p.channel limit 100) p
    order by p.channel
    on conflict (channel, at) do update set
      completed = s.completed + excluded.completed, failed = s.failed + excluded.failed,
      deferred = s.deferred + excluded.deferred, expired = s.expired + excluded.expired,
      died = s.died + excluded.died, wait_ms = s.wait_ms + excluded.wait_ms,
      run_ms = s.run_ms + excluded.run_ms
  )
  insert into lonnymq.sample (
    at, seen, last_id, created, completed, failed, deferred, expired, died, waiting, running, dead,
    oldest_ms, workers, whole, all_channels
  )
  select p_now, lonnymq.history_snapshot(), v_figures.last_id,
    greatest(v_figures.last_id - coalesce(v_last.last_id, v_figures.last_id), 0),
    coalesce(sum(p.completed), 0), coalesce(sum(p.failed), 0), coalesce(sum(p.deferred), 0),
    coalesce(sum(p.expired), 0), coalesce(sum(p.died), 0),
    v_figures.waiting, v_figures.running, v_figures.dead,
    case when v_figures.oldest_at is not null then p_now - greatest(v_figures.oldest_at, 0) end,
    v_figures.workers, coalesce(sum(p.attempts), 0) < 200000, count(*) <= 100
  from part p
  on conflict (at) do nothing;
  delete from lonnymq.sample s where s.at = any (array(
    select o.at from lonnymq.sample o where o.at < p_now - 90000000 order by o.at limit 500
  ));
  delete from lonnymq.channel_sample s where s.ctid = any (array(
    select o.ctid from lonnymq.channel_sample o
    where o.at < p_now - 90000000 order by o.at limit 500
  ));
end
$$;

comment on function lonnymq.sample_take(bigint) is
'Writes down how the queue stands, for charts.';
