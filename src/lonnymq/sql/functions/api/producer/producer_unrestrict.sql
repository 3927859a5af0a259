-- Removes the restriction of a role. The role may use every channel again.
--
-- Answers: `unrestricted`, `not_found` (the role was not restricted).
-- Locks: the row of the role.
-- Notifies: no.
create or replace function lonnymq.producer_unrestrict(p_role text)
returns text
language plpgsql
as $$
begin
  delete from lonnymq.producer_restriction c where c.role = p_role;
  return case when found then 'unrestricted' else 'not_found' end;
end
$$;

comment on function lonnymq.producer_unrestrict(text) is
'Removes the restriction of a role.';
