-- Ends sessions that stand in the way: consumers that have stopped to read in the middle of a dequeue.
-- A dequeue sends its messages before it commits. Where they are more than a socket holds, and whoever
-- asked for them stands still or is cut off, its transaction waits for him and keeps the fold lock and
-- channels that everybody needs: as long as the network takes to give up, or for ever. No time limit of
-- PostgreSQL's acts while a session writes to its client. Its leases are rolled back: they were not
-- heard of.
--
-- Answers: how many were ended. None that this role may not end, or whose waiting it may not see: where
--   the queue has roles, its owner needs pg_signal_backend and pg_read_all_stats, or the logins' roles.
-- Locks: none.
create or replace function lonnymq.consumer_terminate_stuck(p_after interval default '15 seconds')
returns bigint
language plpgsql
as $$
declare
  v_ended bigint := 0;
begin
  perform from pg_stat_activity a
  where a.datname = current_database() and a.wait_event = 'ClientWrite'
    and a.query_start < clock_timestamp() - p_after;
  if not found then
    return 0;
  end if;
  select count(*) filter (where pg_terminate_backend(a.pid)) into v_ended
  from pg_stat_activity a
  join pg_roles r on r.oid = a.usesysid
  where a.datname = current_database() and a.wait_event = 'ClientWrite'
    and a.query_start < clock_timestamp() - p_after
    and (pg_has_role(a.usesysid, 'usage') or pg_has_role('pg_signal_backend', 'usage'))
    and (not r.rolsuper or (select c.rolsuper from pg_roles c where c.rolname = current_user))
    and exists (
      select from pg_locks l
      where l.pid = a.pid and l.granted
        and (
          (l.locktype = 'advisory' and l.classid = 'lonnymq.queue'::regclass::oid and l.objid = 1)
          or (l.locktype = 'relation' and l.relation = 'lonnymq.channel'::regclass::oid
            and l.mode = 'RowShareLock')
        )
    );
  return v_ended;
end
$$;

comment on function lonnymq.consumer_terminate_stuck(interval) is
'Ends sessions of consumers that have stopped to read in the middle of a dequeue.';
