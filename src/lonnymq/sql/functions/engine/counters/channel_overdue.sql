-- The channels whose first waiting message has been due for longer than p_target_ms, with the reason: paused (for any
-- time), saturated, throttled or old. Found among up to 1,000 channels of each state; of channels that are neither held
-- nor paused, among the 1,000 that have had messages due for longest and the 200 with the most messages.
create or replace function lonnymq.channel_overdue(p_target_ms bigint, p_now bigint)
returns table (channel text, reason text, since_at bigint)
language sql
stable
as $$
  select n.channel, n.reason, greatest(f.dequeue_at, f.created_at)
  from (
    select i.channel, case s.state when 'ready' then 'old' else s.state end as reason
    from unnest('{paused,saturated,throttled,ready}'::text[]) as s (state)
    cross join lateral lonnymq.channel_in_state(s.state, 1000) i
    union all
    select r.channel, 'old' from lonnymq.channel_rank('waiting', 200) r
  ) n
  cross join lateral lonnymq.message_first(n.channel) f
  where f.dequeue_at <= p_now
    and (n.reason = 'paused' or greatest(f.dequeue_at, f.created_at) < p_now - p_target_ms)
$$;

comment on function lonnymq.channel_overdue(bigint, bigint) is
'The channels whose first message has been due for long, with the reason.';
