-- Creates a group. The message that you give here is created when the group is sealed and all members have ended.
--
-- Answers: the id of the group.
-- Locks: none.
-- Notifies: no.
create or replace function lonnymq.group_create(
  p_channel text, p_content bytea, p_kind text default null, p_headers jsonb default null
)
returns bigint
language plpgsql
as $$
declare
  v_id bigint;
begin
  perform lonnymq.guard_message(p_channel, p_content, null, null, null, p_kind, p_headers);
  if current_user <> session_user then
    perform lonnymq.guard_channel(p_channel);
  end if;
  perform lonnymq.commit_durably();
  insert into lonnymq.message_group (created_at, channel, content, kind, headers)
  values (lonnymq.epoch(), p_channel, p_content, p_kind, p_headers)
  returning message_group.id into v_id;
  return v_id;
end
$$;

comment on function lonnymq.group_create(text, bytea, text, jsonb) is
'Creates a group, with the message that is created when all members have ended.';
