-- Creates or changes a schedule. A schedule creates messages at the times of a cron line in a timezone,
-- or at the multiples of an interval since 1970. You give the whole definition each time. Workers create
-- the messages. A new schedule, and a schedule with new times, begins with the next run.
--
-- A run is a misfire if no worker was active within a minute of the run. `skip` ignores misfires, `once`
-- creates a message for all misfires together, `all` creates a message for each of the newest 1,000
-- misfires.
--
-- Answers: `created`, `changed`, `unchanged`.
-- Locks: the schedule, against other changes and against the worker that creates a message of the
--   schedule.
-- Notifies: no. Workers read the schedules every ten seconds.
create or replace function lonnymq.schedule_set(
  p_name text,
  p_channel text,
  p_cron text default null,
  p_every_ms bigint default null,
  p_timezone text default 'UTC',
  p_content bytea default '',
  p_kind text default null,
  p_headers jsonb default null,
  p_misfire text default 'once'
)
returns text
language plpgsql
as $$
declare
  v_now bigint := lonnymq.epoch();
  v_old lonnymq.schedule;
begin
  perform lonnymq.guard_schedule(p_name, p_cron, p_every_ms, p_timezone, p_misfire);
  perform lonnymq.guard_message(p_channel, p_content, null, null, p_name, p_kind,
    lonnymq.schedule_headers(p_name, v_now, p_headers));
  perform lonnymq.guard_channel(p_channel);
  perform lonnymq.commit_durably();

  insert into lonnymq.schedule (
    name, last_run_at, set_at, cron, every_ms, timezone, channel, content, kind, headers, misfire
  )
  values (
    p_name, v_now, v_now, p_cron, p_every_ms, p_timezone, p_channel, p_content, p_kind, p_headers,
    p_misfire
  )
  on conflict (name) do nothing;
  if found then
    return 'created';
  end if;

  select * into v_old from lonnymq.schedule s where s.name = p_name for update;
  if (v_old.cron, v_old.every_ms, v_old.timezone, v_old.channel, v_old.content, v_old.kind,
      v_old.headers, v_old.misfire)
    is not distinct from
    (p_cron, p_every_ms, p_timezone, p_channel, p_content, p_kind, p_headers, p_misfire)
  then
    return 'unchanged';
  end if;
  if (v_old.cron, v_old.every_ms, v_old.timezone) is distinct from (p_cron, p_every_ms, p_timezone) then
    v_old.last_run_at := v_now;
    v_old.next_at := null;
  end if;
  update lonnymq.schedule s
  set version = default, last_run_at = v_old.last_run_at, next_at = v_old.next_at, set_at = v_now,
    cron = p_cron, every_ms = p_every_ms, timezone = p_timezone, channel = p_channel,
    content = p_content, kind = p_kind, headers = p_headers, misfire = p_misfire
  where s.name = p_name;
  return 'changed';
end
$$;

comment on function lonnymq.schedule_set(
  text, text, text, bigint, text, bytea, text, jsonb, text
) is
'Creates or changes a schedule.';
