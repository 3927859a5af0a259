-- Deletes dead messages permanently, lowest id first, at most `p_limit` per call.
--
-- Answers: the number of deleted messages. Call the function again until the answer is 0.
-- Locks: the dead messages, without waiting. Locked messages are skipped.
-- Notifies: no.
create or replace function lonnymq.dead_purge(
  p_ids bigint[] default null,
  p_channel text default null,
  p_kind text default null,
  p_limit integer default 10000
)
returns bigint
language plpgsql
set plan_cache_mode = force_custom_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
  v_picked bigint[];
begin
  perform lonnymq.guard_dead_filter(p_ids, p_channel, p_kind, p_limit);
  perform lonnymq.commit_durably();
  v_picked := lonnymq.dead_pick(p_ids, p_channel, p_kind, p_limit);
  delete from lonnymq.dead d where d.id = any (v_picked);
  return cardinality(v_picked);
end
$$;

comment on function lonnymq.dead_purge(bigint[], text, text, integer) is
'Deletes dead messages permanently.';
