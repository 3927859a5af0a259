-- Shows the present state of channels: of one channel, or of a page of channels by name, after
-- `p_after`. Of new channels, the function finds the channels among the first 10,000 changes. Messages
-- are counted up to 10,000 per channel. `counted_exactly` is false if counting stopped there.
create or replace function lonnymq.channel_stats(
  p_channel text default null,
  p_after text default null,
  p_limit integer default 100
)
returns table (
  channel text, state text, waiting bigint, scheduled bigint, leased bigint, dead bigint,
  oldest_at bigint, next_at bigint, in_flight bigint, size bigint, counted_exactly boolean,
  max_concurrency integer, min_interval_ms bigint, burst integer, max_size bigint,
  when_full text, weight integer, max_attempts integer, retry_delays_ms bigint[],
  retry_jitter double precision, paused boolean, retiring boolean
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
begin
  perform lonnymq.guard_range('limit', p_limit, 1, 10000);
  return query
  with named as materialized (
    select p_channel collate "C" as name
    where p_channel is not null and lonnymq.channel_exists(p_channel)
    union all
    (
      select n.name from (
        (
          select c.name from lonnymq.channel c
          where p_channel is null and c.name > coalesce(p_after, '')
          order by c.name limit p_limit
        )
        union
        (
          select s.name from lonnymq.channel_setting s
          where p_channel is null and s.name > coalesce(p_after, '')
          order by s.name limit p_limit
        )
        union
        (
          select distinct f.channel from lonnymq.change_unfolded(10000) f
          where p_channel is null and f.channel > coalesce(p_after, '')
        )
      ) n
      order by n.name limit p_limit
    )
  )
  select n.name,
    case
      when p.paused then 'paused'
      when w.hold is not null then w.hold
      when p.retiring then 'retiring'
      when w.seat is not null or l.waiting > 0 then 'ready'
      when l.scheduled > 0 then 'scheduled'
      else 'idle'
    end,
    l.waiting, l.scheduled, l.leased, d.dead, l.oldest_at,
    case when w.seat is null then w.wake_at end,
    coalesce(m.in_flight, l.leased),
    case when p.max_size is not null
      then lonnymq.channel_size(n.name, c.id, c.max_size is not null, p.max_size)
      else l.waiting + l.scheduled + l.leased end,
    l.waiting + l.scheduled + l.leased < 10000 and d.dead < 10000,
    p.max_concurrency, p.min_interval_ms, p.burst, p.max_size, p.when_full, p.weight,
    p.max_attempts, p.retry_delays_ms, p.retry_jitter, p.paused, p.retiring
  from named n
  cross join lateral lonnymq.channel_policy(n.name) p
  left join lonnymq.channel c on c.name = n.name
  left join lateral lonnymq.channel_position_now(c.id) w on true
  cross join lateral lonnymq.channel_counts(n.name, 10000, v_now) l
  cross join lateral (
    select count(*) as dead
    from (select from lonnymq.dead e where e.channel = n.name limit 10000) e
  ) d
  left join lateral (
    select m.in_flight from lonnymq.channel_counter m
    where m.channel_id = c.id and c.max_concurrency is not null
    order by m.version desc limit 1
  ) m on true
  order by n.name;
end
$$;

comment on function lonnymq.channel_stats(text, text, integer) is
'Shows the present state of channels.';
