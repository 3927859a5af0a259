-- A trigger of the default partition while it has a fence: see history_fence_set. What finishes on a day
-- behind the fence is dated to the last moment before it, because no settlement may fail. That happens only
-- if nobody sweeps for a day or more after the sweep that has set the fence.
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
