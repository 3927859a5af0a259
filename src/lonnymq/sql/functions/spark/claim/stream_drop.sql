-- Forgets a stream: its claims are given back, as if their messages had never been leased. Whoever has
-- it is rejected from now on.
--
-- Answers: dropped; not_found.
-- Locks: the stream and the messages of its claims, until the transaction ends.
-- Notifies: when a channel has something due again.
create or replace function lonnymq.stream_drop(p_stream text)
returns text
language plpgsql
as $$
begin
  perform from lonnymq.stream s where s.name = p_stream for update;
  if not found then
    return 'not_found';
  end if;
  perform lonnymq.claim_undo(c.stream, c.seq)
  from lonnymq.claim c where c.stream = p_stream;
  delete from lonnymq.stream s where s.name = p_stream;
  return 'dropped';
end
$$;

comment on function lonnymq.stream_drop(text) is
'Forgets a stream: its claims are given back.';
