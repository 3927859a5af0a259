-- Deletes a stream. The claims of the stream are given back, as if the messages had never been leased.
-- Calls of the present reader are rejected from now on.
--
-- Answers: `dropped`, `not_found`.
-- Locks: the stream and the messages of the claims, until the transaction ends.
-- Notifies: if a channel has messages due again.
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
'Deletes a stream and gives back its claims.';
