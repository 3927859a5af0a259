-- Pauses a channel: workers lease no messages from the channel until you resume the channel. Leased
-- messages continue, and the channel accepts new messages.
--
-- Answers: `paused`, `already_paused`, `not_found`.
-- Locks: the settings of the channel, against other changes of these settings.
-- Notifies: yes.
create or replace function lonnymq.channel_pause(p_channel text)
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
  update lonnymq.channel_setting s set paused = true where s.name = p_channel and not s.paused;
  if not found then
    return 'already_paused';
  end if;
  perform lonnymq.channel_change(p_channel);
  return 'paused';
end
$$;

comment on function lonnymq.channel_pause(text) is
'Pauses a channel: no messages are leased until you resume the channel.';
