-- The content of a message as JSON, or null if the content is not a JSON object or list, or has more than 64 KiB.
create or replace function lonnymq.content_json(p_content bytea)
returns jsonb
language plpgsql
immutable
as $$
begin
  if octet_length(p_content) > 65536
    or ltrim(encode(substring(p_content for 16), 'escape'), E' \t\r\n') !~ '^[{[]'
  then
    return null;
  end if;
  return convert_from(p_content, 'UTF8')::jsonb;
exception
  when data_exception then
    return null;
end
$$;

comment on function lonnymq.content_json(bytea) is
'The content of a message as JSON, or null.';
