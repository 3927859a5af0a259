-- Leases up to `p_limit` messages. The channels take turns, and every limit applies. A turn gives
-- `weight` messages of a channel. If `p_limit` is larger than one round of turns, several rounds are
-- taken at once.
--
-- The function returns a cursor with every row. Pass the cursor of the last row to the next call, so
-- that the next call continues with the next channel. A caller without a cursor starts at a random
-- channel.
--
-- `p_kinds` selects messages by kind. A null among the kinds is messages without a kind. `p_channels` selects channels by
-- name. Turns, limits and the order of a channel hold among the selected messages. Messages of other kinds and channels
-- cost nothing. The first call with a list of kinds reads the channels of these kinds once, and answers `contended` until
-- it is done. A queue serves up to 64 lists of kinds. Use a cursor only with the same kinds and channels.
--
-- All settings and messages that are committed before the call apply.
--
-- Answers: a row per message with the answer `leased`. If no message is leased, a single row with
--   `empty` or `contended`. `contended` means: another call holds the messages, or this call has found
--   new messages, so try again at once. `retry_at` is the time of the next try if no notification
--   arrives. A null means: nothing is scheduled and no lease can run out.
-- Locks: channels with limits, and messages, without waiting. The call returns before the commit is on
--   disk: if the server crashes, a lost lease causes a second delivery.
-- Notifies: no.
create or replace function lonnymq.message_dequeue(
  p_limit integer default 1,
  p_lease_ms bigint default 30000,
  p_worker text default null,
  p_cursor bigint[] default null,
  p_kinds text[] default null,
  p_channels text[] default null
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
    or p_kinds is not null or p_channels is not null
  then
    perform lonnymq.guard_range('limit', p_limit, 1, 10000);
    perform lonnymq.guard_range('lease_ms', p_lease_ms, 1, 2592000000);
    perform lonnymq.guard_range('bytes of the worker', octet_length(coalesce(p_worker, '')), 0, 255);
    perform lonnymq.guard_range('numbers in the cursor', cardinality(coalesce(p_cursor, '{0,0,0}')), 3,
      4);
    perform lonnymq.guard_choice(p_kinds, p_channels);
  end if;
  if pg_current_xact_id_if_assigned() is not null
    or current_setting('transaction_isolation') <> 'read committed'
  then
    perform lonnymq.guard_own_transaction('message_dequeue');
  end if;
  v_walk.is_folder := lonnymq.commit_relaxed();
  v_walk := lonnymq.walk_begin(p_cursor, p_limit);
  if p_kinds is not null then
    v_walk := lonnymq.kind_begin(v_walk, p_kinds);
  elsif p_limit = 1 and p_channels is null and v_walk.is_folder and v_walk.has_changes
    and not v_walk.is_late
  then
    return query select * from lonnymq.message_lease_direct(v_walk, p_lease_ms, p_worker);
    if found then
      return;
    end if;
  end if;
  v_walk := lonnymq.walk_fold(v_walk);
  if v_walk.has_limit then
    v_walk := lonnymq.walk_quota_queue(v_walk);
  end if;
  if v_walk.remaining = 1 and p_kinds is null and p_channels is null then
    return query select * from lonnymq.walk_one(v_walk, p_lease_ms, p_worker);
    if found then
      return;
    end if;
  end if;
  return query select * from lonnymq.walk_lease(v_walk, p_lease_ms, p_worker,
    row(null, p_channels, null, null, null));
end
$$;

comment on function lonnymq.message_dequeue(
  integer, bigint, text, bigint[], text[], text[]
) is
'Leases messages. The channels take turns, and every limit applies.';
