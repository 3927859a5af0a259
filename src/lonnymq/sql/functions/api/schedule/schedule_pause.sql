-- Pauses a schedule: no run creates a message until you resume the schedule.
--
-- Answers: `paused`, `already_paused`, `not_found`.
-- Locks: the schedule.
-- Notifies: no.
create or replace function lonnymq.schedule_pause(p_name text)
returns text
language plpgsql
as $$
begin
  update lonnymq.schedule s set paused = true, version = default
  where s.name = p_name and not s.paused;
  if found then
    return 'paused';
  end if;
  perform from lonnymq.schedule s where s.name = p_name;
  return case when found then 'already_paused' else 'not_found' end;
end
$$;

comment on function lonnymq.schedule_pause(text) is
'Pauses a schedule: no run creates a message until you resume the schedule.';
