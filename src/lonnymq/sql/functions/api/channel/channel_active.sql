-- Shows the channels with activity: channels with the most messages, with messages due, with leases,
-- with attempts that ended lately, channels that become due next, paused channels and new channels. With
-- `p_channels`, the function shows the named channels instead. You can call the function every second:
-- the cost does not grow with the number of channels or messages.
--
-- The function takes up to `p_limit` channels of each sort and counts up to `p_count` messages per
-- channel. A sample of 200 pages tells which channels have the most messages. The last 5,000 attempts of
-- history tell which channels ended attempts.
--
-- Answers: a row per channel, by name. `counted_exactly` is false if counting stopped at `p_count`.
--   `waiting_since` is the time since when the first waiting message has been due. `finished` is the
--   number of attempts that ended within `finished_ms`, and `completed` of these attempts completed. `ended`
--   is the number for all channels. All three are null if the queue keeps no history. `recent_completed`
--   and `recent_failed` count the attempts of the last 5 to 10 minutes, up to the latest sample.
create or replace function lonnymq.channel_active(
  p_limit integer default 100,
  p_count integer default 1000,
  p_channels text[] default null
)
returns table (
  channel text, state text, waiting bigint, scheduled bigint, leased bigint,
  counted_exactly boolean,
  waiting_since bigint, next_at bigint, in_flight bigint, finished bigint, completed bigint,
  ended bigint, finished_ms bigint, recent_completed bigint, recent_failed bigint,
  max_concurrency integer, min_interval_ms bigint, burst integer, max_size bigint,
  weight integer, paused boolean, retiring boolean, now_at bigint
)
language plpgsql
stable
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_sort = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_now bigint := lonnymq.epoch();
  v_is_kept boolean;
begin
  perform lonnymq.guard_range('limit', p_limit, 1, 1000);
  perform lonnymq.guard_range('count', p_count, 1, 10000);
  select q.history <> 'off' into v_is_kept from lonnymq.queue q where q.only_row;

  return query
  with ended as materialized (
    select h.channel, h.finished_at, h.outcome from lonnymq.history h where h.attempt > 0
    order by h.xid desc limit 5000
  ), span as materialized (
    select case when count(*) < 5000 then 10000
      else greatest(least(v_now - min(e.finished_at), 10000), 1) end as ms
    from ended e
  ), rate as materialized (
    select e.channel as name, count(*) as finished,
      count(*) filter (where e.outcome = 'completed') as completed
    from ended e
    where e.finished_at > v_now - (select s.ms from span s)
    group by e.channel
  ), named as materialized (
    select g.name collate "C" as name from unnest(p_channels) as g (name)
    where lonnymq.channel_exists(g.name)
    union
    select b.channel from lonnymq.channel_busy(p_limit) b where p_channels is null
    union
    (
      select r.name from rate r
      where p_channels is null order by r.finished desc, r.name limit p_limit
    )
  )
  select n.name,
    case
      when p.paused then 'paused'
      when w.hold is not null then w.hold
      when p.retiring then 'retiring'
      when l.waiting > 0 or (w.seat is not null and l.leased >= p_count) then 'ready'
      when l.scheduled > 0 then 'scheduled'
      else 'idle'
    end,
    l.waiting, l.scheduled, l.leased, l.waiting + l.scheduled + l.leased < p_count,
    l.waiting_since,
    case when w.seat is null then w.wake_at end,
    coalesce(m.in_flight, l.leased),
    case when v_is_kept then coalesce(r.finished, 0) end,
    case when v_is_kept then coalesce(r.completed, 0) end,
    case when v_is_kept then (select coalesce(sum(a.finished), 0)::bigint from rate a) end, s.ms,
    case when v_is_kept then coalesce(o.completed, 0) end,
    case when v_is_kept then coalesce(o.failed, 0) end,
    p.max_concurrency, p.min_interval_ms, p.burst, p.max_size, p.weight,
    p.paused, p.retiring, v_now
  from named n
  cross join span s
  cross join lateral lonnymq.channel_policy(n.name) p
  left join lateral (
    select c.id, c.max_concurrency from lonnymq.channel c where c.name = n.name limit 1
  ) c on true
  left join lateral lonnymq.channel_position_now(c.id) w on true
  left join lateral (
    select r.finished, r.completed from rate r where r.name = n.name limit 1
  ) r on true
  left join lateral lonnymq.channel_recent(n.name, v_now) o on true
  cross join lateral lonnymq.channel_counts(n.name, p_count, v_now) l
  left join lateral (
    select m.in_flight from lonnymq.channel_counter m
    where m.channel_id = c.id and c.max_concurrency is not null
    order by m.version desc limit 1
  ) m on true
  order by n.name;
end
$$;

comment on function lonnymq.channel_active(integer, integer, text[]) is
'Shows the channels with activity, at a cost that does not grow with the queue.';
