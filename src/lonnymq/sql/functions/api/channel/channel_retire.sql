-- Retires a channel: the channel rejects new messages and delivers the messages that are left. After the
-- last message has ended, `queue_maintain` deletes the channel with its settings. The name is free again
-- then.
--
-- Answers: `retiring`, `already_retiring`, `not_found`.
-- Locks: the settings of the channel, against other changes of these settings.
-- Notifies: yes.
create or replace function lonnymq.channel_retire(p_channel text)
returns text
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
begin
  perform lonnymq.guard_text('channel', p_channel);
  if not lonnymq.channel_exists(p_channel) then
    return 'not_found';
  end if;
  perform lonnymq.channel_setting_ensure(p_channel);
  update lonnymq.channel_setting s set retiring = true
  where s.name = p_channel and not s.retiring;
  if not found then
    return 'already_retiring';
  end if;
  perform lonnymq.channel_change(p_channel);
  return 'retiring';
end
$$;

comment on function lonnymq.channel_retire(text) is
'Retires a channel: new messages are rejected, and the empty channel is deleted.';
