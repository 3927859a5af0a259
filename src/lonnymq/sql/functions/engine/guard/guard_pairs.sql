-- Rejects arrays of ids and tokens that do not belong together, or are too long for one call.
-- Answers: nothing; raises LM001 or LM002.
create or replace function lonnymq.guard_pairs(p_ids bigint[], p_tokens uuid[])
returns void
language plpgsql
immutable
as $$
begin
  if p_ids is null or p_tokens is null or cardinality(p_ids) <> cardinality(p_tokens) then
    raise exception using errcode = 'LM001',
      message = format('ids and tokens must have the same length: there are %s ids and %s tokens',
        coalesce(cardinality(p_ids), 0), coalesce(cardinality(p_tokens), 0));
  end if;
  if cardinality(p_ids) > 10000 then
    raise exception using errcode = 'LM002',
      message = format('the maximum number of messages per call is 10000, not %s', cardinality(p_ids)),
      hint = 'Use several calls.';
  end if;
end
$$;

comment on function lonnymq.guard_pairs(bigint[], uuid[]) is
'Rejects arrays of ids and tokens that have different lengths or are too long.';
