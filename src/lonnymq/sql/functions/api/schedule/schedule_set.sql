-- Says what a schedule creates and when: at the moments of a cron line on the clocks of a zone, or at
-- the multiples of an interval since 1970. The whole definition is given each time. Workers do the
-- creating; a schedule that is new, or whose moments changed, begins with the first checkpoint after now.
--
-- Missed: a checkpoint is missed if no worker was there within a minute of it. skip lets missed checkpoints be,
--   once makes one message stand for them, all makes up for each, of the newest 1,000.
-- Answers: created; changed; unchanged.
-- Locks: the schedule, against others who set it and the worker that is at one of its checkpoints.
-- Notifies: no; workers look every ten seconds.
create or replace function lonnymq.schedule_set(
  p_name text,
  p_channel text,
  p_cron text default null,
  p_every_ms bigint default null,
  p_zone text default 'UTC',
  p_content bytea default '',
  p_kind text default null,
  p_headers jsonb default null,
  p_missed text default 'once'
)
returns text
language plpgsql
as $$
declare
  v_now bigint := lonnymq.epoch();
  v_old lonnymq.schedule;
begin
  perform lonnymq.guard_schedule(p_name, p_cron, p_every_ms, p_zone, p_missed);
  perform lonnymq.guard_message(p_channel, p_content, null, null, p_name, p_kind,
    lonnymq.schedule_headers(p_name, v_now, p_headers));
  perform lonnymq.guard_channel(p_channel);
  perform lonnymq.commit_durably();

  insert into lonnymq.schedule (
    name, tick_at, set_at, cron, every_ms, zone, channel, content, kind, headers, missed
  )
  values (
    p_name, v_now, v_now, p_cron, p_every_ms, p_zone, p_channel, p_content, p_kind, p_headers,
    p_missed
  )
  on conflict (name) do nothing;
  if found then
    return 'created';
  end if;

  select * into v_old from lonnymq.schedule s where s.name = p_name for update;
  if (v_old.cron, v_old.every_ms, v_old.zone, v_old.channel, v_old.content, v_old.kind,
      v_old.headers, v_old.missed)
    is not distinct from
    (p_cron, p_every_ms, p_zone, p_channel, p_content, p_kind, p_headers, p_missed)
  then
    return 'unchanged';
  end if;
  if (v_old.cron, v_old.every_ms, v_old.zone) is distinct from (p_cron, p_every_ms, p_zone) then
    v_old.tick_at := v_now;
    v_old.next_at := null;
  end if;
  update lonnymq.schedule s
  set version = default, tick_at = v_old.tick_at, next_at = v_old.next_at, set_at = v_now,
    cron = p_cron, every_ms = p_every_ms, zone = p_zone, channel = p_channel,
    content = p_content, kind = p_kind, headers = p_headers, missed = p_missed
  where s.name = p_name;
  return 'changed';
end
$$;

comment on function lonnymq.schedule_set(
  text, text, text, bigint, text, bytea, text, jsonb, text
) is
'Says what a schedule creates and when.';
