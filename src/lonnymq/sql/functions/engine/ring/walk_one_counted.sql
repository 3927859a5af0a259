-- Locks the counter of a channel with limits and its next message, if the limits allow a message now: walk_quota for a
-- single channel and a single message.
-- Answers: the message, the counter, and whether the channel is at its limit with this lease. No row if there is more to
--   it: another call holds the counter, the limit is reached or not counted yet, or no message is there.
create or replace function lonnymq.walk_one_counted(
  p_now bigint, p_channel_id bigint, p_channel text, p_floor_at bigint, p_floor_id bigint,
  p_limits lonnymq.channel_limits
)
returns table (
  tid tid, id bigint, dequeue_at bigint, counter tid, in_flight bigint, tat bigint, slots bigint
)
language sql
volatile
rows 1
as $$
  select m.tid, m.id, m.dequeue_at, k.tid, k.in_flight, k.tat, p_limits.max_concurrency - k.in_flight
  from (
    select k.ctid as tid, k.in_flight, k.tat, k.epoch from lonnymq.channel_counter k
    where k.channel_id = p_channel_id order by k.version desc limit 1
    for update skip locked
  ) k
  cross join lateral (
    select m.ctid as tid, m.id, m.dequeue_at from lonnymq.message m
    where (p_limits.max_concurrency is null
        or (k.epoch = p_limits.epoch and k.in_flight < p_limits.max_concurrency))
      and (p_limits.min_interval_ms is null
        or k.tat <= p_now + (p_limits.burst - 1) * p_limits.min_interval_ms)
      and m.channel = p_channel and (m.dequeue_at, m.id) >= (p_floor_at, p_floor_id)
      and m.dequeue_at <= p_now and m.token is null and (m.expires_at > p_now) is not false
    order by m.dequeue_at, m.id limit 1
    for update skip locked
  ) m
$$;

comment on function lonnymq.walk_one_counted(
  bigint, bigint, text, bigint, bigint, lonnymq.channel_limits
) is
'Locks the counter of a channel with limits and its next message.';
