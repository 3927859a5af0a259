-- What a create does whose key a message has: nothing (keep), an error (refuse), or the message that waits gets the new
-- content (replace), and the new time and priority as well (postpone). A message that runs stays as it is.
-- Answers: duplicate, replaced, postponed, or null if there is no such message any more. Raises LM011.
-- Locks: the message, which is waited for.
-- Notifies: when the channel has nothing due and nothing earlier to wait for.
create or replace function lonnymq.key_duplicate(
  p_message lonnymq.message, p_option lonnymq.message_option, p_id bigint
)
returns text
language plpgsql
as $$
declare
  v_is_postponed boolean := p_option.when_duplicate = 'postpone';
  v_moved record;
begin
  if p_option.when_duplicate = 'refuse' then
    raise exception using errcode = 'LM011',
      message = format('key %s is taken by message %s of channel %s', quote_literal(p_message.key), p_id,
        quote_literal(p_message.channel)),
      hint = 'Use another key, or another when_duplicate: keep, replace or postpone.';
  end if;
  if coalesce(p_option.when_duplicate, 'keep') = 'keep' then
    return 'duplicate';
  end if;
  update lonnymq.message m
  set content = p_message.content, kind = p_message.kind, headers = p_message.headers,
    expires_at = p_message.expires_at, max_attempts = p_message.max_attempts,
    priority = case when v_is_postponed then p_message.priority else m.priority end,
    dequeue_at = case when v_is_postponed then lonnymq.message_rank(least(
        lonnymq.message_due_at(p_message.dequeue_at, p_message.priority),
        m.created_at + p_option.max_delay_ms), p_message.priority, p_message.created_at)
      else m.dequeue_at end
  where m.id = p_id and m.token is null and (m.expires_at > p_message.created_at) is not false
  returning m.dequeue_at, m.priority into v_moved;
  if not found then
    return (select 'duplicate' from lonnymq.message m where m.id = p_id);
  end if;
  -- The kind may be another one, for which the message is new.
  insert into lonnymq.change (channel, dequeue_at, message_id, notified)
  values (p_message.channel, v_moved.dequeue_at, p_id,
    lonnymq.channel_notify(p_message.channel, v_moved.dequeue_at));
  if v_moved.priority > 0 and v_moved.dequeue_at > p_message.created_at then
    insert into lonnymq.change (channel, lease_until, message_ids)
    values ('', v_moved.dequeue_at, array[p_id]);
  end if;
  return case when v_is_postponed then 'postponed' else 'replaced' end;
end
$$;

comment on function lonnymq.key_duplicate(lonnymq.message, lonnymq.message_option, bigint) is
'What a create does whose key a message has.';
