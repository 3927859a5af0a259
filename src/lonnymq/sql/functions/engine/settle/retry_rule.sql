-- What follows when an attempt does not succeed, as the channel says now: whether it was the last one, and
-- if not, the delays and the jitter of retry_delay.
create or replace function lonnymq.retry_rule(p_channel text, p_attempt integer)
returns table (is_last boolean, delays_ms bigint[], jitter double precision)
language sql
stable
rows 1
as $$
  select p_attempt >= coalesce(s.max_attempts, c.max_attempts, q.default_max_attempts),
    coalesce(s.retry_delays_ms, c.retry_delays_ms, q.default_retry_delays_ms),
    coalesce(s.retry_jitter, c.retry_jitter, q.default_retry_jitter)
  from lonnymq.queue q
  left join lateral (select * from lonnymq.channel c where c.name = p_channel limit 1) c on true
  left join lateral (select * from lonnymq.channel_setting s where s.name = p_channel limit 1) s on true
  where q.only_row
$$;

comment on function lonnymq.retry_rule(text, integer) is
'Whether an attempt is the last, and how long to wait for the next attempt.';
