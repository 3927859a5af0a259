-- Extends the leases of all messages that a stream has claimed, to `p_lease_ms` from now. The timeout of
-- the claim is the maximum.
--
-- Answers: a row per claim with the number of messages that are still in the claim, and of messages that
--   are not.
-- Locks: the messages, without waiting, until the transaction ends.
-- Notifies: no.
create or replace function lonnymq.claim_renew(
  p_stream text, p_epoch bigint, p_lease_ms bigint default 600000
)
returns table (seq bigint, held bigint, lost bigint, lease_until bigint)
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
  v_now bigint := lonnymq.epoch();
  v_claim record;
  v_part record;
begin
  perform lonnymq.guard_range('lease_ms', p_lease_ms, 1, 2592000000);
  perform lonnymq.stream_guard(p_stream, p_epoch);
  for v_claim in
    select c.seq, c.token, c.timeout_at from lonnymq.claim c where c.stream = p_stream order by c.seq
  loop
    seq := v_claim.seq;
    held := 0;
    lost := 0;
    lease_until := least(v_now + p_lease_ms, v_claim.timeout_at);
    for v_part in
      select p.message_ids, r.low, r.high
      from lonnymq.claim_part p
      cross join lateral lonnymq.claim_range(coalesce(p.token, v_claim.token)) r
      where p.stream = p_stream and p.seq = v_claim.seq order by p.part
    loop
      -- A lease is only ever made longer here: whoever looks at it finds it early, never late.
      update lonnymq.message m set lease_until = claim_renew.lease_until
      where m.id = any (array(
        select m.id from lonnymq.message m
        where m.id = any (v_part.message_ids) and m.token between v_part.low and v_part.high
          and m.lease_until < claim_renew.lease_until
        for no key update skip locked
      ));
      held := held + (
        select count(*) from lonnymq.message m
        where m.id = any (v_part.message_ids) and m.token between v_part.low and v_part.high
      );
      lost := lost + cardinality(v_part.message_ids);
    end loop;
    lost := lost - held;
    return next;
  end loop;
end
$$;

comment on function lonnymq.claim_renew(text, bigint, bigint) is
'Extends the leases of all messages that a stream has claimed.';
