-- Returns the result that a completed message was completed with, as long as history keeps the attempt.
--
-- Answers: the bytes, or null: no result was stored, the message is not completed, or the message is in a channel
--   that you may not use.
-- Locks: none.
-- Notifies: no.
create or replace function lonnymq.message_result(p_id bigint)
returns bytea
language plpgsql
stable
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
  v_result bytea;
  v_channel text;
begin
  select h.result, h.channel into v_result, v_channel
  from lonnymq.history h where h.message_id = p_id and h.outcome = 'completed'
  order by h.finished_at + 0 desc -- no index by time is walked in search of the message
  limit 1;
  if current_user <> session_user and not lonnymq.channel_permitted(v_channel) then
    return null;
  end if;
  return v_result;
end
$$;

comment on function lonnymq.message_result(bigint) is
'Returns the result of a completed message.';
