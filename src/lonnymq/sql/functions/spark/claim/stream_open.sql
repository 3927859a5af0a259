-- Takes over a stream, or creates the stream if there is no stream of that name. Calls of the previous
-- reader are rejected from now on. The new reader continues an open claim of the previous reader.
--
-- Answers: the epoch that you pass to every further call, the last claim up to which all claims are
--   settled (`claim_list` lists the others), the last message id, and the time.
-- Locks: the stream, until the transaction ends. The call waits for a running call of the previous
--   reader.
-- Notifies: no.
create or replace function lonnymq.stream_open(
  p_stream text,
  out epoch bigint,
  out acknowledged bigint,
  out last_id bigint,
  out now_at bigint
)
language plpgsql
as $$
begin
  perform lonnymq.guard_text('stream', p_stream);
  now_at := lonnymq.epoch();
  select n.last_value into last_id from lonnymq.message_id_seq n;
  -- Waits for those who have said that the stream is theirs (claim_take, claim_acknowledge): the key is
  -- what they hold.
  perform from lonnymq.stream s where s.name = p_stream for update;
  insert into lonnymq.stream as s (name, epoch, opened_at)
  values (p_stream, 1, now_at)
  on conflict (name) do update set epoch = s.epoch + 1, opened_at = excluded.opened_at
  returning s.epoch, s.acknowledged into stream_open.epoch, stream_open.acknowledged;
end
$$;

comment on function lonnymq.stream_open(text) is
'Takes over a stream, or creates the stream.';
