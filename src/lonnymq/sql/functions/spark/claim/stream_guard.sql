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
      message = format('stream %s was taken over by another reader', p_stream),
      detail = format('Epoch %s of the stream is out of date.', p_epoch),
      hint = 'Stop this reader, or give this reader a stream with another name.';
  end if;
end
$$;

comment on function lonnymq.stream_guard(text, bigint) is
'Rejects a caller that does not own the stream.';
