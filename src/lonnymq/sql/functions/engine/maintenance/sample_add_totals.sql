-- Adds attempts to the totals of the queue and of up to 10,000 channels: the most failing first, then the busiest.
create or replace function lonnymq.sample_add_totals(p_groups lonnymq.attempt_group[], p_now bigint)
returns void
language plpgsql
set enable_hashjoin = on
as $$
begin
  insert into lonnymq.channel_total as t (
    channel, sampled_at, failed_at, completed, failed, deferred, expired, died, wait_ms, run_ms,
    window_at, recent_completed, recent_failed, recent_died, waits, runs
  )
  select p.name, p_now, case when p.failed + p.expired + p.died > 0 then p_now end,
    p.completed, p.failed, p.deferred, p.expired, p.died, p.wait_ms, p.run_ms,
    p_now / 300000 * 300000, p.completed, p.failed + p.expired + p.died, p.died, p.waits, p.runs
  from (
    select p.* from lonnymq.sample_part(p_groups, 'queue', 1) p
    union all
    (
      select g.channel,
        coalesce(sum(g.attempts) filter (where g.outcome = 'completed'), 0)::bigint,
        coalesce(sum(g.attempts) filter (where g.outcome = 'failed'), 0)::bigint,
        coalesce(sum(g.attempts) filter (where g.outcome = 'deferred'), 0)::bigint,
        coalesce(sum(g.attempts) filter (where g.outcome = 'expired'), 0)::bigint,
        coalesce(sum(g.attempts) filter (where g.outcome = 'dead'), 0)::bigint,
        sum(g.wait_ms)::bigint, sum(g.run_ms)::bigint, null, null
      from unnest(p_groups) as g
      group by g.channel
      order by
        sum(case when g.outcome in ('failed', 'expired', 'dead') then g.attempts else 0 end) desc,
        sum(g.attempts) desc, g.channel
      limit 10000
    )
  ) p
  order by p.name
  on conflict (channel) do update set
    sampled_at = excluded.sampled_at,
    failed_at = coalesce(excluded.failed_at, t.failed_at),
    completed = t.completed + excluded.completed, failed = t.failed + excluded.failed,
    deferred = t.deferred + excluded.deferred, expired = t.expired + excluded.expired,
    died = t.died + excluded.died, wait_ms = t.wait_ms + excluded.wait_ms,
    run_ms = t.run_ms + excluded.run_ms,
    window_at = excluded.window_at,
    recent_completed = excluded.recent_completed
      + case when t.window_at = excluded.window_at then t.recent_completed else 0 end,
    recent_failed = excluded.recent_failed
      + case when t.window_at = excluded.window_at then t.recent_failed else 0 end,
    recent_died = excluded.recent_died
      + case when t.window_at = excluded.window_at then t.recent_died else 0 end,
    earlier_completed = case excluded.window_at - t.window_at
      when 0 then t.earlier_completed when 300000 then t.recent_completed else 0 end,
    earlier_failed = case excluded.window_at - t.window_at
      when 0 then t.earlier_failed when 300000 then t.recent_failed else 0 end,
    earlier_died = case excluded.window_at - t.window_at
      when 0 then t.earlier_died when 300000 then t.recent_died else 0 end,
    waits = case when excluded.waits is not null
      then lonnymq.duration_sum(t.waits, excluded.waits) end,
    runs = case when excluded.runs is not null
      then lonnymq.duration_sum(t.runs, excluded.runs) end;
end
$$;

comment on function lonnymq.sample_add_totals(lonnymq.attempt_group[], bigint) is
'Adds attempts to the totals of the queue and of channels.';
