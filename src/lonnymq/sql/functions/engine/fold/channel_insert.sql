-- Inserts channels with their first message, with their settings or the defaults of the queue. The
-- caller holds the fold lock, so no other transaction inserts a channel. No message of the channel was
-- ever leased, so a limit counts from the first message on.
create or replace function lonnymq.channel_insert(
  p_names text[], p_now bigint
)
returns void
language sql
volatile
as $$
  with missing as materialized (
    select i.name, e.*
    from unnest(p_names) as i (name)
    cross join lateral lonnymq.channel_policy(i.name) e
    where (select c.id from lonnymq.channel c where c.name = i.name) is null
    order by i.name
  ), found as (
    insert into lonnymq.channel (
      name, max_concurrency, min_interval_ms, burst, max_size, when_full, weight, max_attempts,
      most_attempts, retry_delays_ms, retry_jitter, retiring, recount_after,
      size_epoch
    )
    select m.name, m.max_concurrency, m.min_interval_ms, m.burst, m.max_size, m.when_full,
      m.weight, m.max_attempts, m.max_attempts, m.retry_delays_ms, m.retry_jitter, m.retiring,
      case when m.max_size is not null then '0'::xid8 end, coalesce((
        select s.limit_epoch from lonnymq.channel_setting s where s.name = m.name), 0)
    from missing m
    returning channel.id, channel.name, channel.max_concurrency, channel.min_interval_ms
  ), counted as (
    insert into lonnymq.channel_counter (channel_id, version, epoch)
    select f.id, 1, coalesce(s.limit_epoch, 0)
    from found f
    left join lateral (
      select s.limit_epoch from lonnymq.channel_setting s where s.name = f.name limit 1
    ) s on true
    where s.limit_epoch > 0 or f.max_concurrency is not null or f.min_interval_ms is not null
  )
  insert into lonnymq.channel_position (channel_id, version, floor_at, floor_id, idle_at, hold)
  select f.id, 1, 9223372036854775807, 0, p_now,
    (select case when p.paused then 'paused' end from lonnymq.channel_policy(f.name) p)
  from found f
$$;

comment on function lonnymq.channel_insert(text[], bigint) is
'Inserts channels with their first message.';
