-- Takes the fold lock of this queue for the transaction, if it is free. One transaction at a time
-- folds changes, gives seats and takes them away; everybody else goes on dequeuing.
create or replace function lonnymq.fold_lock()
returns boolean
language sql
volatile
as $$
  select pg_try_advisory_xact_lock('lonnymq.queue'::regclass::oid::integer, 1)
$$;

comment on function lonnymq.fold_lock() is
'Takes the fold lock of this queue for the transaction, if the lock is free.';
