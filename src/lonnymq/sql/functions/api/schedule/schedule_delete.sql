-- Deletes a schedule. Messages that the schedule created stay.
--
-- Answers: `deleted`, `not_found`.
-- Locks: the schedule.
-- Notifies: no.
create or replace function lonnymq.schedule_delete(p_name text)
returns text
language plpgsql
as $$
begin
  delete from lonnymq.schedule s where s.name = p_name;
  return case when found then 'deleted' else 'not_found' end;
end
$$;

comment on function lonnymq.schedule_delete(text) is
'Deletes a schedule. Messages that the schedule created stay.';
