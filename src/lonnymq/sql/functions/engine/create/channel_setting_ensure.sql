-- Makes sure that a channel has settings of its own, from what holds for it now if it has none, and locks
-- them: the caller is about to change them.
-- Answers: whether they are new.
create or replace function lonnymq.channel_setting_ensure(p_channel text)
returns boolean
language plpgsql
as $$
declare
  v_is_new boolean;
begin
  perform lonnymq.guard_text('channel', p_channel);
  insert into lonnymq.channel_setting (
    name, max_concurrency, min_interval_ms, burst, max_size, when_full, weight, max_attempts,
    retry_delays_ms, retry_jitter
  )
  select p_channel, p.max_concurrency, p.min_interval_ms, p.burst, p.max_size, p.when_full,
    p.weight, p.max_attempts, p.retry_delays_ms, p.retry_jitter
  from lonnymq.channel_policy(p_channel) p
  on conflict (name) do nothing;
  v_is_new := found;
  perform from lonnymq.channel_setting s where s.name = p_channel for update;
  return v_is_new;
end
$$;

comment on function lonnymq.channel_setting_ensure(text) is
'Creates the settings of a channel if needed, and locks the settings.';
