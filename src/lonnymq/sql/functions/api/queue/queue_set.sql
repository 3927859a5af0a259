-- Sets the options of the queue: the limit of the queue, the history, and the defaults for channels.
-- Options that you do not give stay as they are, and null removes a limit. A changed default applies to
-- channels that are created later.
--
-- Options: `max_concurrency`, `history` (`off`, `outcomes`, `content`), `history_keep_ms`,
--   `channel_idle_ms`, and `default_` with the name of any option of `channel_set`.
-- Answers: `changed`, `unchanged`.
-- Locks: the settings of the queue, against other changes of these settings.
-- Notifies: yes.
create or replace function lonnymq.queue_set(p_options jsonb)
returns text
language plpgsql
as $$
declare
  v_old lonnymq.queue;
  v_new lonnymq.queue;
begin
  perform lonnymq.guard_options(p_options, '{
    "max_concurrency": "count?", "history": "history", "history_keep_ms": "ms?",
    "channel_idle_ms": "ms"
  }'::jsonb || (
    select jsonb_object_agg('default_' || o.key, o.value)
    from jsonb_each(lonnymq.channel_options()) as o
  ));
  select * into v_old from lonnymq.queue q where q.only_row for update;
  v_new := jsonb_populate_record(v_old, p_options);
  if v_new is not distinct from v_old then
    return 'unchanged';
  end if;
  perform lonnymq.queue_stamp();
  update lonnymq.queue q
  set max_concurrency = v_new.max_concurrency,
    history = v_new.history,
    history_keep_ms = v_new.history_keep_ms,
    channel_idle_ms = v_new.channel_idle_ms,
    default_max_concurrency = v_new.default_max_concurrency,
    default_min_interval_ms = v_new.default_min_interval_ms,
    default_burst = v_new.default_burst,
    default_max_size = v_new.default_max_size,
    default_when_full = v_new.default_when_full,
    default_weight = v_new.default_weight,
    default_max_attempts = v_new.default_max_attempts,
    default_retry_delays_ms = v_new.default_retry_delays_ms,
    default_retry_jitter = v_new.default_retry_jitter,
    limit_epoch = case when v_old.max_concurrency is null and v_new.max_concurrency is not null
      then nextval('lonnymq.limit_epoch_seq') else q.limit_epoch end
  where q.only_row;
  -- Who wrote the row stands in it: see queue_generation.
  update lonnymq.queue q set written_by = q.xmin where q.only_row and q.written_by <> q.xmin;
  -- The channel without a name is the queue itself.
  perform lonnymq.channel_change('');
  return 'changed';
end
$$;

comment on function lonnymq.queue_set(jsonb) is
'Sets the options of the queue: limit, history and defaults for new channels.';
