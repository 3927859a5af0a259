-- Takes back what history_fence_set did.
-- Locks: the caller has history_other in access exclusive mode.
create or replace function lonnymq.history_fence_drop(p_name text)
returns void
language plpgsql
as $$
begin
  drop trigger if exists fence on lonnymq.history_other;
  execute format('alter table lonnymq.history_other drop constraint %I', p_name);
end
$$;

comment on function lonnymq.history_fence_drop(text) is
'Drops the constraint of history_fence_set.';
