-- The tokens of messages that begin with these 16 digits, which are those of a part of a claim.
-- Answers: the lowest and the highest.
create or replace function lonnymq.claim_range(p_token text, out low uuid, out high uuid)
language sql
immutable
as $$
  select (p_token || '0000000000000000')::uuid, (p_token || 'ffffffffffffffff')::uuid
$$;

comment on function lonnymq.claim_range(text) is
'The range of the tokens that messages of one part of a claim have.';
