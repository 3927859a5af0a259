-- Rejects what cannot be a message, with what is allowed instead.
-- Answers: nothing; raises LM001 or LM002.
create or replace function lonnymq.guard_message(
  p_channel text, p_content bytea, p_dequeue_at bigint, p_delay_ms bigint, p_key text,
  p_kind text, p_headers jsonb
)
returns void
language plpgsql
immutable
as $$
begin
  perform lonnymq.guard_text('channel', p_channel);
  if p_key is not null then
    perform lonnymq.guard_text('key', p_key);
  end if;
  if p_kind is not null then
    perform lonnymq.guard_text('kind', p_kind);
  end if;
  if p_content is null then
    raise exception using errcode = 'LM001', message = 'content must be given',
      hint = 'An empty content is an empty bytea.';
  end if;
  if octet_length(p_content) > 67108864 then
    raise exception using errcode = 'LM002',
      message = format('content is %s bytes, at most 67108864 are allowed', octet_length(p_content)),
      hint = 'Store it elsewhere and send its address.';
  end if;
  if p_dequeue_at is not null and p_delay_ms is not null then
    raise exception using errcode = 'LM001', message = 'dequeue_at and delay_ms exclude each other',
      hint = 'Give the moment or the delay, not both.';
  end if;
  if p_delay_ms is not null then
    perform lonnymq.guard_range('delay_ms', p_delay_ms, 0, 3155760000000);
  end if;
  if p_headers is not null then
    if jsonb_typeof(p_headers) <> 'object' then
      raise exception using errcode = 'LM001',
        message = format('headers must be a JSON object, not %s', jsonb_typeof(p_headers));
    end if;
    if octet_length(p_headers::text) > 16384 then
      raise exception using errcode = 'LM002',
        message = format('headers are %s bytes, at most 16384 are allowed',
          octet_length(p_headers::text)),
        hint = 'Headers are for trace context and the like: put the rest into the content.';
    end if;
  end if;
end
$$;

comment on function lonnymq.guard_message(text, bytea, bigint, bigint, text, text, jsonb) is
'Rejects what cannot be a message.';
