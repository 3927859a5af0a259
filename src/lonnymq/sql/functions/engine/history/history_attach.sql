-- Makes the partition of history for a day.
-- Locks: the caller has history in share update exclusive and history_other in access exclusive mode.
--   A table that is attached leaves those alone who write other days; one that is created as a partition
--   waits for all of them.
create or replace function lonnymq.history_attach(p_day bigint)
returns void
language plpgsql
as $$
declare
  v_name text := lonnymq.history_day_name(p_day);
begin
  execute format('create table lonnymq.%I (like lonnymq.history including all)', v_name);
  execute format(
    'alter table lonnymq.history attach partition lonnymq.%I for values from (%s) to (%s)',
    v_name, p_day * 86400000, (p_day + 1) * 86400000);
end
$$;

comment on function lonnymq.history_attach(bigint) is
'Makes the partition of history for a day.';
