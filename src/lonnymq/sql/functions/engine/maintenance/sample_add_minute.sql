-- Adds attempts to the minute of p_now, for the 100 busiest and the 100 most failing channels and kinds.
create or replace function lonnymq.sample_add_minute(p_groups lonnymq.attempt_group[], p_now bigint)
returns void
language plpgsql
set enable_hashjoin = on
as $$
begin
  insert into lonnymq.channel_sample as s (
    channel, at, completed, failed, deferred, expired, died, wait_ms, run_ms, waits, runs
  )
  select p.name, p_now / 60000 * 60000, p.completed, p.failed, p.deferred, p.expired, p.died,
    p.wait_ms, p.run_ms, p.waits, p.runs
  from lonnymq.sample_part(p_groups, 'channel', 100) p
  order by p.name
  on conflict (channel, at) do update set
    completed = s.completed + excluded.completed, failed = s.failed + excluded.failed,
    deferred = s.deferred + excluded.deferred, expired = s.expired + excluded.expired,
    died = s.died + excluded.died, wait_ms = s.wait_ms + excluded.wait_ms,
    run_ms = s.run_ms + excluded.run_ms,
    waits = lonnymq.duration_sum(s.waits, excluded.waits),
    runs = lonnymq.duration_sum(s.runs, excluded.runs);
  insert into lonnymq.kind_sample as s (
    kind, at, completed, failed, deferred, expired, died, wait_ms, run_ms, waits, runs
  )
  select p.name, p_now / 60000 * 60000, p.completed, p.failed, p.deferred, p.expired, p.died,
    p.wait_ms, p.run_ms, p.waits, p.runs
  from lonnymq.sample_part(p_groups, 'kind', 100) p
  order by p.name
  on conflict (kind, at) do update set
    completed = s.completed + excluded.completed, failed = s.failed + excluded.failed,
    deferred = s.deferred + excluded.deferred, expired = s.expired + excluded.expired,
    died = s.died + excluded.died, wait_ms = s.wait_ms + excluded.wait_ms,
    run_ms = s.run_ms + excluded.run_ms,
    waits = lonnymq.duration_sum(s.waits, excluded.waits),
    runs = lonnymq.duration_sum(s.runs, excluded.runs);
end
$$;

comment on function lonnymq.sample_add_minute(lonnymq.attempt_group[], bigint) is
'Adds attempts to the samples of a minute, by channel and by kind.';
