-- Gives back a claim that no reader has received. The messages return to their old position, and no
-- attempt is used.
--
-- Answers: `released`, `not_found`.
-- Locks: the messages, in the order of ids, until the transaction ends. Channels are not locked.
-- Notifies: if a channel has messages due again.
create or replace function lonnymq.claim_release(p_stream text, p_epoch bigint, p_seq bigint)
returns text
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
begin
  perform lonnymq.stream_guard(p_stream, p_epoch);
  perform from lonnymq.claim c where c.stream = p_stream and c.seq = p_seq;
  if not found then
    return 'not_found';
  end if;
  perform lonnymq.claim_undo(p_stream, p_seq);
  return 'released';
end
$$;

comment on function lonnymq.claim_release(text, bigint, bigint) is
'Gives back a claim that no reader has received.';
