-- Drops days of history that are older than `history_keep_ms` and confirmed by every reader. A drop
-- locks the whole history for a moment. If the lock is not free, the function stops until the next call.
-- Every tenth call waits up to 50 ms for the lock, because a busy queue would never free the lock
-- otherwise. Calls that settle messages wait for the same time, which is shorter than
-- `deadlock_timeout`: other sessions never fail because of the drop.
--
-- Answers: the number of dropped partitions.
create or replace function lonnymq.history_prune()
returns bigint
language plpgsql
as $$
declare
  v_keep_ms bigint;
  v_before bigint;
  v_confirmed xid8;
  v_partition record;
  v_is_needed boolean;
  v_timeout constant text := current_setting('lock_timeout');
  v_is_patient constant boolean := random() < 0.1;
  v_dropped bigint := 0;
begin
  select q.history_keep_ms into v_keep_ms from lonnymq.queue q where q.only_row;
  if v_keep_ms is null then
    return 0;
  end if;
  v_before := lonnymq.epoch() - v_keep_ms;
  select min(r.confirmed) into v_confirmed from lonnymq.history_reader r;

  begin
    -- Another maintenance may hold the table, and its transaction may be open for long.
    lock table lonnymq.history_other in row exclusive mode nowait;
  exception when lock_not_available then
    return 0;
  end;
  delete from lonnymq.history_other h
  where h.ctid = any (array(
    select o.ctid from lonnymq.history_other o
    where o.finished_at < v_before and (v_confirmed is null or o.xid < v_confirmed)
    order by o.finished_at
    limit 10000
    for update skip locked
  ));

  for v_partition in
    select c.relname::text as name
    from pg_inherits i
    join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'lonnymq.history'::regclass and c.relname ~ '^history_\d{8}$'
      and (extract(epoch from (to_date(right(c.relname, 8), 'YYYYMMDD') + 1)::timestamp)
        * 1000)::bigint <= v_before
    order by c.relname
  loop
    begin
      execute format('lock table lonnymq.%I in access share mode nowait', v_partition.name);
      execute format('select exists (select from lonnymq.%I h where h.xid >= $1)', v_partition.name)
      into v_is_needed using v_confirmed;
      continue when v_is_needed;
      if v_is_patient then
        perform set_config('lock_timeout', '50ms', true);
        lock table only lonnymq.history in access exclusive mode;
        perform set_config('lock_timeout', v_timeout, true);
      else
        lock table only lonnymq.history in access exclusive mode nowait;
      end if;
      lock table lonnymq.history_other in access exclusive mode nowait;
      execute format('lock table lonnymq.%I in access exclusive mode nowait', v_partition.name);
      execute format('drop table lonnymq.%I', v_partition.name);
      v_dropped := v_dropped + 1;
    exception when lock_not_available then
      return v_dropped;
    end;
  end loop;
  return v_dropped;
end
$$;

comment on function lonnymq.history_prune() is
'Drops days of history that are old and confirmed.';
