-- Begins a dequeue or a claim: reads the state of the engine, and takes the fold lock if the lock is
-- free.
-- Locks: the fold lock if free, and a lock that all dequeues share. The call waits for nothing.
create or replace function lonnymq.walk_begin(p_cursor bigint[], p_limit integer)
returns lonnymq.walk
language plpgsql
as $$
declare
  v_walk lonnymq.walk;
begin
  -- Whoever begins to count in a first limit waits for the dequeues that do not know of it (limit_begin).
  v_walk.is_folder := pg_try_advisory_xact_lock_shared('lonnymq.queue'::regclass::oid::integer, 5);
  v_walk.is_folder := lonnymq.fold_lock();
  v_walk.is_contended := not v_walk.is_folder;
  v_walk.now_at := lonnymq.epoch();
  v_walk.remaining := p_limit;
  v_walk.visits := 0;
  v_walk.looked := p_cursor[4];
  v_walk.seat := p_cursor[1];
  v_walk.lap := p_cursor[2];
  v_walk.used := greatest(p_cursor[3], 0);
  select e.checkpoint_id, e.until_xid, e.running_xids, e.has_moved, e.seat_floor, e.seat_last,
    e.has_limit, e.has_changes, e.is_late
  into v_walk.checkpoint_id, v_walk.until_xid, v_walk.running_xids, v_walk.has_moved, v_walk.seat_floor,
    v_walk.seat_last, v_walk.has_limit, v_walk.has_changes, v_walk.is_late
  from lonnymq.engine_state(v_walk.now_at) e;
  return v_walk;
end
$$;

comment on function lonnymq.walk_begin(bigint[], integer) is
'Begins a dequeue: reads the state of the engine, and takes the fold lock if free.';
