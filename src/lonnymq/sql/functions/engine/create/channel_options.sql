-- The options of a channel and what each must be: see guard_options.
create or replace function lonnymq.channel_options()
returns jsonb
language sql
immutable
as $$
  select '{
    "max_concurrency": "count?", "min_interval_ms": "ms?", "burst": "burst",
    "max_size": "ms?", "when_full": "full", "weight": "weight", "max_attempts": "count",
    "retry_delays_ms": "delays", "retry_jitter": "share"
  }'::jsonb
$$;

comment on function lonnymq.channel_options() is
'The options of a channel and the allowed values.';
