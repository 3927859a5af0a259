-- Takes a stream over, and makes it if there is none of the name. Whoever had it before is rejected from
-- now on, in the middle of a claim too: it is the newcomer who goes on with that claim.
--
-- Answers: the epoch to be told with every further call; up to which claim all is settled (claim_list
--   has those that are not); the last message's id and the time.
-- Locks: the stream, until the transaction ends; waits for a call under way of whoever had it before.
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
'Takes a stream over, and makes it if there is none of the name.';
