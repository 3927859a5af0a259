-- Removes the outcomes that were decided for the messages of a claim, before its batch is tried again.
--
-- Answers: `reset`, `not_found`.
-- Locks: the removed outcomes.
-- Notifies: no.
create or replace function lonnymq.claim_reset(p_stream text, p_epoch bigint, p_seq bigint)
returns text
language plpgsql
as $$
#variable_conflict use_column
declare
  v_range record;
begin
  perform lonnymq.stream_guard(p_stream, p_epoch);
  for v_range in
    select r.low, r.high
    from lonnymq.claim c
    join lonnymq.claim_part p on p.stream = c.stream and p.seq = c.seq
    cross join lateral lonnymq.claim_range(coalesce(p.token, c.token)) r
    where c.stream = p_stream and c.seq = p_seq
  loop
    delete from lonnymq.claim_outcome o where o.token between v_range.low and v_range.high;
  end loop;
  return case when v_range is null then 'not_found' else 'reset' end;
end
$$;

comment on function lonnymq.claim_reset(text, bigint, bigint) is
'Removes the outcomes that were decided for the messages of a claim.';
