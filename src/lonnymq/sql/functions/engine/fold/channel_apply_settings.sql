-- Applies new settings to channels whose rows the caller has locked. Each channel gets a seat unless the
-- channel is paused, and the floor falls, so that the whole channel is read again. A dequeue reads the
-- settings directly, folded or not. This function brings channels back into the ring that may continue.
create or replace function lonnymq.channel_apply_settings(p_channels text[], p_now bigint)
returns void
language plpgsql
as $$
begin
  update lonnymq.channel c
  set max_concurrency = n.max_concurrency,
    min_interval_ms = n.min_interval_ms,
    burst = n.burst,
    max_size = n.max_size,
    when_full = n.when_full,
    weight = n.weight,
    max_attempts = n.max_attempts,
    most_attempts = greatest(c.most_attempts, n.max_attempts),
    retry_delays_ms = n.retry_delays_ms,
    retry_jitter = n.retry_jitter,
    retiring = n.retiring,
    recount_after = case when n.max_size is null then null
      when c.max_size is null or c.size_epoch <> n.epoch then '0'::xid8 else c.recount_after end,
    size_epoch = n.epoch,
    early_ids = case when n.max_size is not null and c.size_epoch = n.epoch then c.early_ids end
  from unnest(p_channels) as l (name)
  cross join lateral (
    select p.*, coalesce((
      select s.limit_epoch from lonnymq.channel_setting s where s.name = l.name), 0) as epoch
    from lonnymq.channel_policy(l.name) p
  ) n
  where c.name = l.name;

  perform lonnymq.channel_position_move(array_agg(p.tid), array_agg(row(
    p.channel_id, p.version + 1,
    case when not p.is_paused then coalesce(p.seat, nextval('lonnymq.seat_seq')) end,
    null, -9223372036854775808, 0, p_now, case when p.is_paused then 'paused' end,
    null, null, null, null
  )::lonnymq.channel_position))
  from (
    select p.*, coalesce(s.paused, false) as is_paused
    from unnest(p_channels) as l (name)
    cross join lateral (select * from lonnymq.channel c where c.name = l.name limit 1) c
    cross join lateral (
      select p.ctid as tid, p.* from lonnymq.channel_position p
      where p.channel_id = c.id order by p.version desc limit 1
    ) p
    left join lateral (
      select * from lonnymq.channel_setting s where s.name = l.name limit 1
    ) s on true
    order by random()
  ) p;
end
$$;

comment on function lonnymq.channel_apply_settings(text[], bigint) is
'Applies new settings to locked channels.';
