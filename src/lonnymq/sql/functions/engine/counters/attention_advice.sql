-- What to do about a reason of queue_attention.
create or replace function lonnymq.attention_advice(p_reason text)
returns text
language sql
immutable
as $$
  select case p_reason
    when 'no_workers' then 'Start a worker.'
    when 'failing' then 'Read the errors of the failed attempts.'
    when 'dying' then 'Read the errors of the dead messages, then redrive or purge the messages.'
    when 'paused' then 'Resume the channel, or purge its messages.'
    when 'saturated' then 'Raise max_concurrency, or look for handlers that run for too long.'
    when 'throttled' then 'Shorten min_interval_ms, or raise burst.'
    else 'Add workers, or raise the weight of the channel.'
  end
$$;

comment on function lonnymq.attention_advice(text) is
'What to do about a reason for attention.';
