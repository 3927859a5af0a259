-- Removes a claim and what was said of its messages.
create or replace function lonnymq.claim_forget(p_stream text, p_seq bigint)
returns void
language plpgsql
as $$
#variable_conflict use_column
declare
  v_token text;
begin
  delete from lonnymq.claim_part p where p.stream = p_stream and p.seq = p_seq;
  delete from lonnymq.claim c where c.stream = p_stream and c.seq = p_seq
  returning c.token into v_token;
  delete from lonnymq.claim_outcome o
  where o.token between (v_token || '0000000000000000')::uuid and (v_token || 'ffffffffffffffff')::uuid;
end
$$;

comment on function lonnymq.claim_forget(text, bigint) is
'Removes a claim and what was said of its messages.';
