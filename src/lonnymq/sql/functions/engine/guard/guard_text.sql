-- Rejects a channel, key or kind that is not 1 to 255 bytes long.
-- Answers: nothing; raises LM001.
create or replace function lonnymq.guard_text(p_what text, p_value text)
returns void
language plpgsql
immutable
as $$
begin
  if p_value is null then
    raise exception using errcode = 'LM001',
      message = format('%s must be given', p_what),
      hint = 'Pass a text of 1 to 255 bytes.';
  end if;
  if octet_length(p_value) not between 1 and 255 then
    raise exception using errcode = 'LM001',
      message = format('%s must be 1 to 255 bytes long, not %s', p_what, octet_length(p_value)),
      hint = 'Use a short name here, and put what is long into the content.';
  end if;
end
$$;

comment on function lonnymq.guard_text(text, text) is
'Rejects a channel, key or kind that is not 1 to 255 bytes long.';
