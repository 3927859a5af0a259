-- Writes down how the queue stands, for charts, unless somebody did so less than 5 seconds ago.
-- Called by queue_sweep. It counts the attempts that ended since the sample before it: those of
-- transactions that its snapshot did not see, up to 200,000 of them, and each once. Nothing is
-- counted after a pause of more than 5 minutes: charts have a gap there. Samples are kept for 25 hours.
--
-- Locks: one sampler at a time, by a try-lock.
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
  select * into v_figures from lonnymq.queue_figures(10);

  insert into lonnymq.sample (
    at, seen, last_id, created, completed, failed, deferred, expired, died, waiting, running, dead,
    oldest_ms, workers, whole
  )
  select p_now, pg_current_snapshot(), v_figures.last_id,
    greatest(v_figures.last_id - coalesce(v_last.last_id, v_figures.last_id), 0),
    count(*) filter (where e.outcome = 'completed'),
    count(*) filter (where e.outcome = 'failed'),
    count(*) filter (where e.outcome = 'deferred'),
    count(*) filter (where e.outcome = 'expired'),
    count(*) filter (where e.outcome = 'dead'),
    v_figures.waiting, v_figures.running, v_figures.dead,
    case when v_figures.oldest_at is not null then p_now - greatest(v_figures.oldest_at, 0) end,
    v_figures.workers, count(*) < 200000
  from (
    (
      select h.outcome from lonnymq.history h
      where h.xid >= pg_snapshot_xmax(v_last.seen)
      limit 200000
    )
    union all
    (
      select h.outcome
      from pg_snapshot_xip(v_last.seen) as open (xid)
      cross join lateral (
        select h.outcome from lonnymq.history h where h.xid = open.xid limit 100000
      ) h
      limit 100000
    )
  ) e
  on conflict (at) do nothing;
  delete from lonnymq.sample s where s.at = any (array(
    select o.at from lonnymq.sample o where o.at < p_now - 90000000 order by o.at limit 1000
  ));
end
$$;

comment on function lonnymq.sample_take(bigint) is
'Writes down how the queue stands, for charts.';
