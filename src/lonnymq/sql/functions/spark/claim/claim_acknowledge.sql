-- Settles a claim, a part per call. The messages are completed, except messages with another outcome
-- from `claim_decide`. The last part ends the claim. The token identifies the claim: a claim with the
-- same number from before a restore of the database is given back instead of settled.
--
-- Answers: a row with the number of messages that were completed, deferred, will be retried, are dead,
--   or have left the claim because their leases ran out, and whether parts are left to settle.
-- Locks: the messages, in the order of ids, until the transaction ends. Channels are not locked.
-- Notifies: as `message_defer` and `message_fail` do.
create or replace function lonnymq.claim_acknowledge(
  p_stream text,
  p_epoch bigint,
  p_seq bigint,
  p_token text,
  out completed bigint,
  out deferred bigint,
  out retrying bigint,
  out dead bigint,
  out lost bigint,
  out is_more boolean
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
  v_claim lonnymq.claim;
  v_part lonnymq.claim_part;
  v_ids bigint[];
  v_low uuid;
  v_high uuid;
begin
  completed := 0;
  deferred := 0;
  retrying := 0;
  dead := 0;
  lost := 0;
  is_more := false;
  perform lonnymq.stream_guard(p_stream, p_epoch);
  -- Claims before it that are still there are not of the caller's past.
  perform lonnymq.claim_undo(c.stream, c.seq)
  from lonnymq.claim c
  where c.stream = p_stream and (c.seq < p_seq or (c.seq = p_seq and c.token <> p_token));
  select * into v_claim from lonnymq.claim c where c.stream = p_stream and c.seq = p_seq;
  if not found then
    update lonnymq.stream s set acknowledged = p_seq where s.name = p_stream and s.acknowledged < p_seq;
    return;
  end if;
  select * into v_part from lonnymq.claim_part p
  where p.stream = p_stream and p.seq = p_seq order by p.part limit 1;
  v_ids := v_part.message_ids;
  select r.low, r.high into v_low, v_high
  from lonnymq.claim_range(coalesce(v_part.token, v_claim.token)) r;
  if exists (select from lonnymq.claim_outcome o where o.token between v_low and v_high) then
    select s.deferred, s.retrying, s.dead, s.lost, s.rest
    into deferred, retrying, dead, lost, v_ids
    from lonnymq.claim_settle(v_ids, v_low, v_high) s;
    delete from lonnymq.claim_outcome o
    where o.token between v_low and v_high and o.message_id = any (v_part.message_ids);
  end if;
  completed := lonnymq.claim_complete(v_ids, v_low, v_high);
  lost := lost + cardinality(v_ids) - completed;

  -- Nobody need look at leases that have ended.
  delete from lonnymq.lease l
  where l.ctid = any (array(
    select l.ctid from lonnymq.lease l
    where l.due_at = v_part.due_at and l.message_ids = v_part.message_ids
    for update skip locked
  ));
  delete from lonnymq.claim_part p
  where p.stream = p_stream and p.seq = p_seq and p.part = v_part.part;
  is_more := exists (
    select from lonnymq.claim_part p where p.stream = p_stream and p.seq = p_seq);
  if not is_more then
    perform lonnymq.claim_forget(p_stream, p_seq);
    update lonnymq.stream s set acknowledged = p_seq where s.name = p_stream and s.acknowledged < p_seq;
  end if;
end
$$;

comment on function lonnymq.claim_acknowledge(text, bigint, bigint, text) is
'Settles a claim, a part per call.';
