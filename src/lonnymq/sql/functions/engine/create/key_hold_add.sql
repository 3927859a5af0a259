-- Takes the key of a message that was just stored for a period, or finds out that nobody else has taken the key for one.
-- A transaction with an older snapshot writes a row in any case: it may not see the row of another transaction, and two
-- rows of the same key are an error that can be retried.
-- Answers: whether the message may have the key.
create or replace function lonnymq.key_hold_add(p_message lonnymq.message, p_unique_for_ms bigint)
returns boolean
language plpgsql
as $$
begin
  if p_unique_for_ms is null and not lonnymq.snapshot_is_fixed() then
    perform from lonnymq.key_hold h
    where h.channel = p_message.channel and h.key = p_message.key and h.until_at > p_message.created_at;
    return not found;
  end if;
  insert into lonnymq.key_hold as h (channel, key, message_id, until_at)
  values (p_message.channel, p_message.key, p_message.id,
    p_message.created_at + coalesce(p_unique_for_ms, 0))
  on conflict (channel, key) do update set message_id = excluded.message_id, until_at = excluded.until_at
  where h.until_at <= p_message.created_at;
  return found;
end
$$;

comment on function lonnymq.key_hold_add(lonnymq.message, bigint) is
'Takes the key of a new message for a period, or finds out that the key is free.';
