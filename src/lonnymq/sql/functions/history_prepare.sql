-- Makes the day partitions of history for the coming two days. What finishes on a day without one
-- goes into history_other and loses nothing.
--
-- Gives up, for now, where it would have to wait: a sweep has locked messages by then, and behind a
-- request that waits every settlement would wait as well. A table that is attached leaves those alone
-- who write other days; one that is created as a partition waits for all of them.
create or replace function lonnymq.history_prepare(p_now bigint)
returns void
language plpgsql
as $$
declare
  v_day bigint;
  v_name text;
begin
  for v_day in select p_now / 86400000 + i from generate_series(1, 2) as i loop
    v_name := 'history_' || to_char(to_timestamp(v_day * 86400) at time zone 'UTC', 'YYYYMMDD');
    continue when to_regclass('lonnymq.' || v_name) is not null;
    perform set_config('lock_timeout', '100ms', true);
    begin
      lock table only lonnymq.history in share update exclusive mode nowait;
      lock table lonnymq.history_other in access exclusive mode nowait;
      execute format('create table lonnymq.%I (like lonnymq.history including all)', v_name);
      execute format(
        'alter table lonnymq.history attach partition lonnymq.%I for values from (%s) to (%s)',
        v_name, v_day * 86400000, (v_day + 1) * 86400000);
    exception when lock_not_available or duplicate_table or check_violation then
      return;
    end;
  end loop;
end
$$;

comment on function lonnymq.history_prepare(bigint) is
'Makes the day partitions of history for the coming two days.';
