-- Rejects results that do not belong to the messages of their call, or are too large.
-- Answers: nothing; raises LM001 or LM002.
create or replace function lonnymq.guard_results(p_results bytea[], p_length integer)
returns void
language plpgsql
immutable
as $$
declare
  v_size integer;
begin
  perform lonnymq.guard_aligned('results', p_results, p_length);
  select octet_length(r.result) into v_size from unnest(p_results) as r (result)
  where octet_length(r.result) > 1048576 limit 1;
  if found then
    raise exception using errcode = 'LM002',
      message = format('result is %s bytes, at most 1048576 are allowed', v_size),
      hint = 'Store the result elsewhere and return the address.';
  end if;
end
$$;

comment on function lonnymq.guard_results(bytea[], integer) is
'Rejects results of a wrong number or size.';
