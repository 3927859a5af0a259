-- Rejects a number outside of what is allowed, null included.
-- Answers: nothing; raises LM001.
create or replace function lonnymq.guard_range(
  p_what text, p_value bigint, p_least bigint, p_most bigint
)
returns void
language plpgsql
immutable
as $$
begin
  if p_value is null or p_value < p_least or p_value > p_most then
    raise exception using errcode = 'LM001',
      message = format('%s must be from %s to %s, not %s', p_what, p_least, p_most,
        coalesce(p_value::text, 'null'));
  end if;
end
$$;

comment on function lonnymq.guard_range(text, bigint, bigint, bigint) is
'Rejects a number outside the allowed range, and null.';
