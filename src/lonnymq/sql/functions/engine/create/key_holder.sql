-- The message that has a key: the live one, or the one that took the key for a period (key_hold). One that waits and has
-- expired has the key no more: it is ended here.
-- Answers: the id, or null.
-- Locks: a message that has expired, without waiting.
create or replace function lonnymq.key_holder(p_channel text, p_key text, p_now bigint)
returns bigint
language plpgsql
as $$
declare
  v_holder record;
begin
  select m.id, m.token is null and m.expires_at <= p_now as is_over into v_holder
  from lonnymq.message m where m.channel = p_channel and m.key = p_key
  -- An older snapshot shows a message that is gone beside the caller's own. Not by the primary key.
  order by -m.id limit 1;
  if v_holder.is_over and cardinality(lonnymq.message_end(array[v_holder.id], p_now, 'lapsed')) > 0 then
    v_holder.id := null;
  end if;
  return coalesce(v_holder.id, (
    select h.message_id from lonnymq.key_hold h
    where h.channel = p_channel and h.key = p_key and h.until_at > p_now limit 1
  ));
end
$$;

comment on function lonnymq.key_holder(text, text, bigint) is
'The message that has a key.';
