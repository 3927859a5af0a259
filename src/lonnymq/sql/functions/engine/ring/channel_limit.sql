-- The limits of a channel as people set them, committed by now, and what it counts: in_flight under the
-- limit that is set now, or not yet (is_begun is false: limit_begin).
create or replace function lonnymq.channel_limit(p_channel_id bigint)
returns table (
  name text, max_concurrency integer, min_interval_ms bigint, burst integer, epoch bigint,
  in_flight bigint, tat bigint, is_begun boolean
)
language sql
stable
rows 1
as $$
  select l.name, l.max_concurrency, l.min_interval_ms, l.burst, l.epoch,
    coalesce(m.in_flight, 0), coalesce(m.tat, 0),
    l.max_concurrency is null or coalesce(m.epoch, 0) = l.epoch
  from (
    select c.name,
      case when s.name is null then c.max_concurrency else s.max_concurrency end as max_concurrency,
      case when s.name is null then c.min_interval_ms else s.min_interval_ms end
        as min_interval_ms,
      coalesce(s.burst, c.burst) as burst, coalesce(s.limit_epoch, 0) as epoch
    from lonnymq.channel c
    left join lateral (
      select * from lonnymq.channel_setting s where s.name = c.name limit 1
    ) s on true
    where c.id = p_channel_id
  ) l
  left join lateral (
    select m.in_flight, m.tat, m.epoch from lonnymq.channel_counter m
    where m.channel_id = p_channel_id order by m.version desc limit 1
  ) m on true
$$;

comment on function lonnymq.channel_limit(bigint) is
'The limits of a channel as set, and the counter.';
