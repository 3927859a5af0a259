-- Creates the partitions of history from today up to two weeks ahead, at most p_most per call. If
-- maintenance runs at least once in two weeks, no row goes into the default partition, history_other,
-- and no settlement waits for a lock of this function. An attempt that finishes on a day without a
-- partition goes into the default partition.
--
-- If the default partition is larger than 2 MB, several maintenance runs share the work, so that no
-- settlement waits while the rows are read: the first sets a fence (history_fence_set), the next
-- validates the fence (history_validate), others attach the days behind the fence and drop the fence.
--
-- Answers: the number of new partitions.
-- Locks: history_other in access exclusive mode until the transaction ends, if the lock is free. If a
--   partition is needed within two days, the call waits up to 50 ms for the lock, and writers of that
--   partition wait as long. That is shorter than deadlock_timeout: other sessions never fail.
create or replace function lonnymq.history_extend(p_now bigint, p_most integer)
returns integer
language plpgsql
as $$
declare
  v_today constant bigint := p_now / 86400000;
  v_timeout constant text := current_setting('lock_timeout');
  v_due record;
  v_day bigint;
  v_made integer := 0;
begin
  select * into v_due from lonnymq.history_due(v_today);
  if (v_due.days = '{}' and v_due.fence is null)
    or (select not f.is_valid from lonnymq.history_fence() f)
  then
    return 0;
  end if;
  begin
    lock table only lonnymq.history in share update exclusive mode nowait;
    if v_due.days[1] <= v_today + 2 then
      perform set_config('lock_timeout', '50ms', true);
      lock table lonnymq.history_other in access exclusive mode;
      perform set_config('lock_timeout', v_timeout, true);
    else
      lock table lonnymq.history_other in access exclusive mode nowait;
    end if;
  exception when lock_not_available then
    return 0;
  end;

  -- Lock first, look after: what was written until now is seen, and nobody writes.
  select * into v_due from lonnymq.history_due(v_today);
  if v_due.is_large and v_due.fence is null then
    if v_due.days <> '{}' then
      v_day := (
        select o.finished_at / 86400000 from lonnymq.history_other o
        where o.finished_at >= v_due.days[1] * 86400000
        order by o.finished_at limit 1
      );
      perform lonnymq.history_fence_set(v_due.days[1], least(v_today + 15, v_day));
    end if;
    return 0;
  end if;
  foreach v_day in array v_due.days loop
    if v_made = p_most then
      return v_made;
    end if;
    perform lonnymq.history_attach(v_day);
    v_made := v_made + 1;
  end loop;
  if v_due.fence is not null then
    perform lonnymq.history_fence_drop(v_due.fence);
  end if;
  return v_made;
end
$$;

comment on function lonnymq.history_extend(bigint, integer) is
'Makes the day partitions of history up to two weeks ahead.';
