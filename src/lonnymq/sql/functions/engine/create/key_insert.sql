-- Stores a message with a key, or does what the option says if the key is taken: by a live message, or for a period
-- (key_hold). The message is stored first and the period is looked at after that: whoever takes the key for a period
-- has stored a message too, and of two such transactions the second waits for the first.
--
-- Answers: created, duplicate, replaced or postponed, with the id of the message that has the key. Raises LM011.
-- Locks: an equal key is waited for.
create or replace function lonnymq.key_insert(
  p_message lonnymq.message, p_option lonnymq.message_option, out answer text, out id bigint
)
language plpgsql
as $$
#variable_conflict use_column
declare
  v_now constant bigint := p_message.created_at;
  v_is_kept constant boolean := coalesce(p_option.when_duplicate, 'keep') = 'keep';
  v_is_over boolean;
begin
  loop
    select h.message_id into id from lonnymq.key_hold h
    where h.channel = p_message.channel and h.key = p_message.key and h.until_at > v_now;
    if found then
      answer := case when v_is_kept then 'duplicate'
        else coalesce(lonnymq.key_duplicate(p_message, p_option, id), 'duplicate') end;
      return;
    end if;
    insert into lonnymq.message values (p_message.*)
    on conflict (channel, key) where key is not null do nothing;
    if found then
      if lonnymq.key_hold_add(p_message, p_option.unique_for_ms) then
        answer := 'created';
        id := p_message.id;
        return;
      end if;
      delete from lonnymq.message m where m.id = p_message.id;
    else
      select m.id, m.expires_at <= v_now into id, v_is_over
      from lonnymq.message m where m.channel = p_message.channel and m.key = p_message.key
      order by -m.id limit 1;  -- as key_holder
      if v_is_over then
        id := lonnymq.key_holder(p_message.channel, p_message.key, v_now);
      end if;
      answer := case when id is null then null when v_is_kept then 'duplicate'
        else lonnymq.key_duplicate(p_message, p_option, id) end;
      if answer is not null then
        return;
      end if;
      -- The holder was finished between the two statements: the key is free again.
    end if;
  end loop;
end
$$;

comment on function lonnymq.key_insert(lonnymq.message, lonnymq.message_option) is
'Stores a message with a key, or does what the option says if the key is taken.';
