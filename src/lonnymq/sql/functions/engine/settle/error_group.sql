-- What errors have in common: the last line, which says what went wrong, with its numbers left out.
create or replace function lonnymq.error_group(p_error text)
returns text
language sql
immutable
as $$
  select coalesce(nullif(left(regexp_replace(
    (regexp_match(right(rtrim(p_error, E' \t\r\n'), 4000), '[^\r\n]*$'))[1],
    '0x[0-9a-fA-F]+|[0-9a-fA-F]{8}-[0-9a-fA-F-]{27}|[0-9]+', '#', 'g'), 200), ''), 'no error text')
$$;

comment on function lonnymq.error_group(text) is
'The common part of errors: the last line without numbers.';
