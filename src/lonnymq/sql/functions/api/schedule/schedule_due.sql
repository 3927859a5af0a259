-- Lists the schedules that a worker has to process: schedules with a run within `p_within_ms`, and
-- schedules whose next run is not computed yet.
create or replace function lonnymq.schedule_due(
  p_within_ms bigint default 0, p_limit integer default 1000
)
returns table (
  name text, cron text, every_ms bigint, timezone text, channel text, kind text, headers jsonb,
  content bytea, misfire text, paused boolean, last_run_at bigint, next_at bigint,
  message_id bigint, answer text, set_at bigint, version bigint, now_at bigint
)
language plpgsql
stable
as $$
#variable_conflict use_column
declare
  v_now bigint := lonnymq.epoch();
begin
  perform lonnymq.guard_range('within_ms', p_within_ms, 0, 3155760000000);
  perform lonnymq.guard_range('limit', p_limit, 1, 10000);
  return query
  select s.name, s.cron, s.every_ms, s.timezone, s.channel, s.kind, s.headers, s.content, s.misfire,
    s.paused, s.last_run_at, s.next_at, s.message_id, s.answer, s.set_at, s.version, v_now
  from lonnymq.schedule s
  where not s.paused and (s.next_at is null or s.next_at <= v_now + p_within_ms)
  order by s.next_at nulls first, s.name
  limit p_limit;
end
$$;

comment on function lonnymq.schedule_due(bigint, integer) is
'Lists the schedules that a worker has to process.';
