-- Removes a claim and the outcomes that were decided for its messages.
create or replace function lonnymq.claim_forget(p_stream text, p_seq bigint)
returns void
language plpgsql
as $$
#variable_conflict use_column
declare
  v_range record;
begin
  for v_range in
    select r.low, r.high
    from lonnymq.claim c
    join lonnymq.claim_part p on p.stream = c.stream and p.seq = c.seq
    cross join lateral lonnymq.claim_range(coalesce(p.token, c.token)) r
    where c.stream = p_stream and c.seq = p_seq
  loop
    delete from lonnymq.claim_outcome o where o.token between v_range.low and v_range.high;
  end loop;
  delete from lonnymq.claim_part p where p.stream = p_stream and p.seq = p_seq;
  delete from lonnymq.claim c where c.stream = p_stream and c.seq = p_seq;
end
$$;

comment on function lonnymq.claim_forget(text, bigint) is
'Removes a claim and the outcomes that were decided for its messages.';
