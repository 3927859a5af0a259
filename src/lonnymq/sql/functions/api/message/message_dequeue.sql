-- Leases up to p_limit messages, channel by channel in turn, under every limit.
--
-- The ring of channels that have something due is walked from p_cursor, which is handed back with
-- every row: {seat of the last visit, where this lap ends, messages already taken in a turn that was
-- cut short}, and after an empty answer a fourth number (walk_nothing). Hand in that of the last row.
-- The second number is negative in a lap's tail (walk_lap). A caller without one starts anywhere. Each
-- visit is worth the channel's weight; where the limit is more than one round gives, several rounds are
-- taken at once.
--
-- Settings, and messages, that are committed when it begins hold for it.
--
-- Answers: one row a message, answer leased. When there is none, exactly one row: empty, or contended
--   where another call holds what is eligible, or this one has just found out about more: try again at
--   once. retry_at says when to look again if nobody notifies (null: nothing is scheduled, and no lease was
--   taken that might still run out).
-- Locks: channels that have limits, and messages, without ever waiting for one. The commit of this
--   transaction is not waited for: a lease that a crash loses is one more delivery.
-- Notifies: no.
create or replace function lonnymq.message_dequeue(
  p_limit integer default 1,
  p_lease_ms bigint default 30000,
  p_worker text default null,
  p_cursor bigint[] default null
)
returns table (
  answer text, id bigint, token uuid, channel text, content bytea, state bytea, attempt integer,
  kind text, headers jsonb, key text, created_at bigint, dequeue_at bigint, dequeued_at bigint,
  lease_until bigint, retry_at bigint, cursor bigint[]
)
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_walk lonnymq.walk;
begin
  if p_limit is null or p_limit not between 1 and 10000
    or p_lease_ms is null or p_lease_ms not between 1 and 2592000000
    or octet_length(p_worker) > 255 or cardinality(p_cursor) not between 3 and 4
  then
    perform lonnymq.guard_range('limit', p_limit, 1, 10000);
    perform lonnymq.guard_range('lease_ms', p_lease_ms, 1, 2592000000);
    perform lonnymq.guard_range('bytes of the worker', octet_length(coalesce(p_worker, '')), 0, 255);
    perform lonnymq.guard_range('numbers in the cursor', cardinality(coalesce(p_cursor, '{0,0,0}')), 3,
      4);
  end if;
  if pg_current_xact_id_if_assigned() is not null
    or current_setting('transaction_isolation') <> 'read committed'
  then
    perform lonnymq.guard_own_transaction('message_dequeue');
  end if;
  v_walk.is_folder := lonnymq.commit_relaxed();
  v_walk := lonnymq.walk_begin(p_cursor, p_limit);
  if p_limit = 1 and v_walk.is_folder and v_walk.has_changes and not v_walk.is_late then
    return query select * from lonnymq.message_lease_direct(v_walk, p_lease_ms, p_worker);
    if found then
      return;
    end if;
  end if;
  v_walk := lonnymq.walk_fold(v_walk);
  if v_walk.remaining = 1 and not v_walk.has_limit then
    return query select * from lonnymq.walk_one(v_walk, p_lease_ms, p_worker);
    if found then
      return;
    end if;
  end if;
  return query select * from lonnymq.walk_lease(v_walk, p_lease_ms, p_worker, null);
end
$$;

comment on function lonnymq.message_dequeue(integer, bigint, text, bigint[]) is
'Leases messages, channel by channel in turn, under every limit.';
