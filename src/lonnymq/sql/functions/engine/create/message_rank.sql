-- Where a message stands in its channel. A message with a priority that is due stands before all of lower priority:
-- 10^13 ms, 317 years, earlier for each step. One that is due later stands at its time, and is moved up when the time
-- comes (message_promote): a message that is not due must not stand in front of those that are. One that stands there
-- already stays.
create or replace function lonnymq.message_rank(p_at bigint, p_priority integer, p_now bigint)
returns bigint
language sql
immutable
as $$
  select case when p_priority > 0 and p_at <= p_now and p_at > -5000000000000
    then p_at - p_priority * 10000000000000 else p_at end
$$;

comment on function lonnymq.message_rank(bigint, integer, bigint) is
'Where a message of this priority stands in its channel.';
