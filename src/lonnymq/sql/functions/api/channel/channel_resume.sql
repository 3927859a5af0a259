-- Resumes a paused channel.
--
-- Answers: `resumed`, `not_paused`, `not_found`.
-- Locks: the settings of the channel, against other changes of these settings.
-- Notifies: yes.
create or replace function lonnymq.channel_resume(p_channel text)
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
  update lonnymq.channel_setting s set paused = false where s.name = p_channel and s.paused;
  if found then
    perform lonnymq.channel_change(p_channel);
    return 'resumed';
  end if;
  return case when lonnymq.channel_exists(p_channel) then 'not_paused' else 'not_found' end;
end
$$;

comment on function lonnymq.channel_resume(text) is
'Resumes a paused channel.';
