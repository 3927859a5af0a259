-- Looks whether the default partition of history keeps a promise that it was given (history_fence_set).
-- That reads all its rows, while everybody goes on: a sweep that does it does nothing else.
-- Answers: whether there was one to look at, and it was looked at.
-- Locks: history_other in share update exclusive mode, if that is free.
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
