-- The policy of a channel: the settings, folded or not, or the policy from the first message, or the
-- defaults of the queue.
create or replace function lonnymq.channel_policy(
  p_channel text,
  out max_concurrency integer,
  out min_interval_ms bigint,
  out burst integer,
  out max_size bigint,
  out when_full text,
  out weight integer,
  out max_attempts integer,
  out retry_delays_ms bigint[],
  out retry_jitter double precision,
  out paused boolean,
  out retiring boolean
)
language sql
stable
as $$
  select
    case when s.name is not null then s.max_concurrency when c.name is not null
      then c.max_concurrency else q.default_max_concurrency end,
    case when s.name is not null then s.min_interval_ms when c.name is not null
      then c.min_interval_ms else q.default_min_interval_ms end,
    coalesce(s.burst, c.burst, q.default_burst),
    case when s.name is not null then s.max_size when c.name is not null
      then c.max_size else q.default_max_size end,
    coalesce(s.when_full, c.when_full, q.default_when_full),
    coalesce(s.weight, c.weight, q.default_weight),
    coalesce(s.max_attempts, c.max_attempts, q.default_max_attempts),
    coalesce(s.retry_delays_ms, c.retry_delays_ms, q.default_retry_delays_ms),
    coalesce(s.retry_jitter, c.retry_jitter, q.default_retry_jitter),
    coalesce(s.paused, false),
    coalesce(s.retiring, false)
  from lonnymq.queue q
  left join lonnymq.channel_setting s on s.name = p_channel
  left join lonnymq.channel c on c.name = p_channel
  where q.only_row
$$;

comment on function lonnymq.channel_policy(text) is
'The policy of a channel: settings, policy from the first message, or defaults.';
