-- Validates the constraint of history_fence_set on the default partition. The call reads all rows of the
-- partition while other sessions continue. A maintenance run that validates does nothing else.
-- Answers: whether there was a constraint to validate, and the lock was free.
-- Locks: history_other in share update exclusive mode, if the lock is free.
create or replace function lonnymq.history_validate()
returns boolean
language plpgsql
as $$
declare
  v_name text := (select f.name from lonnymq.history_fence() f where not f.is_valid);
begin
  if v_name is null then
    return false;
  end if;
  begin
    lock table lonnymq.history_other in share update exclusive mode nowait;
  exception when lock_not_available then
    return false;
  end;
  execute format('alter table lonnymq.history_other validate constraint %I', v_name);
  return true;
end
$$;

comment on function lonnymq.history_validate() is
'Validates the constraint of history_fence_set.';
