-- Returns the range of tokens that begin with these 16 digits: the tokens of a part of a claim.
-- Answers: the lowest and the highest token.
create or replace function lonnymq.claim_range(p_token text, out low uuid, out high uuid)
language sql
immutable
as $$
  select (p_token || '0000000000000000')::uuid, (p_token || 'ffffffffffffffff')::uuid
$$;

comment on function lonnymq.claim_range(text) is
'Returns the range of the tokens of a part of a claim.';
