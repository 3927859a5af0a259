-- A message that is not stored yet.
create or replace function lonnymq.message_new(
  p_id bigint, p_channel text, p_content bytea, p_rank bigint, p_now bigint, p_key text,
  p_option lonnymq.message_option
)
returns lonnymq.message
language plpgsql
immutable
as $$
declare
  v_message lonnymq.message;
begin
  v_message.id := p_id;
  v_message.channel := p_channel;
  v_message.content := p_content;
  v_message.dequeue_at := p_rank;
  v_message.created_at := p_now;
  v_message.key := p_key;
  v_message.attempt := 0;
  v_message.slot := 0;
  v_message.expires_at := p_option.expires_at;
  v_message.max_attempts := p_option.max_attempts;
  v_message.priority := p_option.priority;
  return v_message;
end
$$;

comment on function lonnymq.message_new(
  bigint, text, bytea, bigint, bigint, text, lonnymq.message_option
) is
'A message that is not stored yet.';
