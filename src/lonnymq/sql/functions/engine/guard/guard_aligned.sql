-- Rejects an optional array that is neither absent nor as long as the others of its call.
-- Answers: nothing; raises LM001.
create or replace function lonnymq.guard_aligned(p_what text, p_value anyarray, p_length integer)
returns void
language plpgsql
immutable
as $$
begin
  if p_value is not null and cardinality(p_value) <> p_length then
    raise exception using errcode = 'LM001',
      message = format('%s must be absent or have %s elements, not %s', p_what, p_length,
        cardinality(p_value));
  end if;
end
$$;

comment on function lonnymq.guard_aligned(text, anyarray, integer) is
'Rejects an optional array that has not the length of the other arrays.';
