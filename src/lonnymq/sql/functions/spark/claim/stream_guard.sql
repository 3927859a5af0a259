-- Rejects a caller that does not own the stream, and prevents a takeover until this transaction ends.
-- Answers: nothing. Raises LM009.
create or replace function lonnymq.stream_guard(p_stream text, p_epoch bigint)
returns void
language plpgsql
as $$
begin
  perform from lonnymq.stream s
  where s.name = p_stream and s.epoch = p_epoch
  for key share skip locked;
  if not found then
    raise exception using errcode = 'LM009',
      message = format('stream %s is another''s by now', p_stream),
      detail = format('Epoch %s is no longer that of the stream.', p_epoch),
      hint = 'Let the one that opened it last go on, or give this one a stream of its own.';
  end if;
end
$$;

comment on function lonnymq.stream_guard(text, bigint) is
'Rejects a caller that does not own the stream.';
