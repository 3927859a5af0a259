-- Sets the policy of a channel. The channel need not exist yet. Options that you do not give stay as
-- they are, and null removes a limit. The policy applies to every dequeue that begins after the commit.
--
-- Options: `max_concurrency`, `min_interval_ms`, `burst`, `max_size`, `when_full` (`reject`, `drop`),
--   `weight`, `max_attempts`, `retry_delays_ms`, `retry_jitter`.
-- Answers: `created` (the channel had no settings before), `changed`, `unchanged`.
-- Locks: the settings of the channel, against other changes of these settings. Dequeues do not wait for
--   this lock.
-- Notifies: yes.
create or replace function lonnymq.channel_set(p_channel text, p_options jsonb)
returns text
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
declare
  v_is_new boolean;
  v_old lonnymq.channel_setting;
  v_new lonnymq.channel_setting;
begin
  perform lonnymq.guard_text('channel', p_channel);
  perform lonnymq.guard_options(p_options, lonnymq.channel_options());
  v_is_new := lonnymq.channel_setting_ensure(p_channel);
  select * into v_old from lonnymq.channel_setting s where s.name = p_channel;
  v_new := jsonb_populate_record(v_old, p_options);
  if v_new is not distinct from v_old and not v_is_new then
    return 'unchanged';
  end if;
  update lonnymq.channel_setting s
  set max_concurrency = v_new.max_concurrency,
    min_interval_ms = v_new.min_interval_ms,
    burst = v_new.burst,
    max_size = v_new.max_size,
    when_full = v_new.when_full,
    weight = v_new.weight,
    max_attempts = v_new.max_attempts,
    retry_delays_ms = v_new.retry_delays_ms,
    retry_jitter = v_new.retry_jitter,
    limit_epoch = case when (v_old.max_concurrency is null and v_new.max_concurrency is not null)
      or (v_old.max_size is null and v_new.max_size is not null)
      then nextval('lonnymq.limit_epoch_seq') else s.limit_epoch end
  where s.name = p_channel;
  perform lonnymq.channel_change(p_channel);
  return case when v_is_new then 'created' else 'changed' end;
end
$$;

comment on function lonnymq.channel_set(text, jsonb) is
'Sets the policy of a channel. Options that are not given stay as they are.';
