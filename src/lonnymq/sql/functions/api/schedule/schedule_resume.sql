-- Resumes a paused schedule with the next run. Runs during the pause do not count as misfires.
--
-- Answers: `resumed`, `not_paused`, `not_found`.
-- Locks: the schedule.
-- Notifies: no.
create or replace function lonnymq.schedule_resume(p_name text)
returns text
language plpgsql
as $$
begin
  update lonnymq.schedule s
  set paused = false, version = default, last_run_at = lonnymq.epoch(), next_at = null
  where s.name = p_name and s.paused;
  if found then
    return 'resumed';
  end if;
  perform from lonnymq.schedule s where s.name = p_name;
  return case when found then 'not_paused' else 'not_found' end;
end
$$;

comment on function lonnymq.schedule_resume(text) is
'Resumes a paused schedule with the next run.';
