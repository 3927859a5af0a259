-- How long to wait after a failed attempt: the channel's delay for that attempt, the last one
-- repeating, and a random part on top so that what failed together does not come back together.
create or replace function lonnymq.retry_delay(
  p_attempt integer, p_delays_ms bigint[], p_jitter double precision
)
returns bigint
language sql
volatile
as $$
  select (d.delay_ms * (1 + p_jitter * random()))::bigint
  from (
    select coalesce(p_delays_ms[least(greatest(p_attempt, 1), cardinality(p_delays_ms))], 0)
      as delay_ms
  ) d
$$;

comment on function lonnymq.retry_delay(integer, bigint[], double precision) is
'How long to wait after a failed attempt.';
