-- A trigger of the default partition while the partition has a fence: see history_fence_set. An attempt
-- that finishes on a day behind the fence is dated to the last moment before the fence, because no
-- settlement may fail. This happens only if no maintenance runs for a day or more after the fence was
-- set.
create or replace function lonnymq.history_clip()
returns trigger
language plpgsql
as $$
begin
  new.finished_at := tg_argv[0]::bigint - 1;
  return new;
end
$$;

comment on function lonnymq.history_clip() is
'Dates attempts that finish behind a fence to the moment before the fence.';
