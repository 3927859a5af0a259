-- Says what a schedule creates and when: at the moments of a cron line on the clocks of a timezone, or at
-- the multiples of an interval since 1970. The whole definition is given each time. Workers do the
-- creating; a schedule that is new, or whose moments changed, begins with the first run after now.
--
-- Misfire: a run is misfire if no worker was there within a minute of it. skip lets misfire runs be,
--   once makes one message stand for them, all makes up for each, of the newest 1,000.
-- Answers: created; changed; unchanged.
-- Locks: the schedule, against others who set it and the worker that is at one of its runs.
-- Notifies: no; workers look every ten seconds.
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
'Says what a schedule creates and when.';
