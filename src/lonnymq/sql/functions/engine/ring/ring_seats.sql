-- The next seats of the ring after p_seat, as a consumer walks the ring: to the end of the lap, then
-- channels that became due during the lap up to p_seat_last (unless the walk is in that tail already:
-- walk_lap), then from the start. With each seat its channel with the committed settings, folded or not,
-- and where its messages begin, with the unfolded changes (change_pending). PostgreSQL inlines this function into
-- the calling query.
create or replace function lonnymq.ring_seats(
  p_seat bigint, p_lap bigint, p_seat_last bigint, p_seat_floor bigint, p_most integer,
  p_pending jsonb
)
returns table (
  seat bigint, channel_id bigint, floor_at bigint, floor_id bigint, gap_at bigint, gap_id bigint,
  gap_end_at bigint, gap_end_id bigint, name text, weight bigint, bits integer, is_limited boolean,
  paused boolean, limits lonnymq.channel_limits
)
language sql
stable
as $$
  select p.seat, p.channel_id,
    case when f.is_lower then f.first_at else p.floor_at end,
    case when f.is_lower then f.first_id else p.floor_id end,
    case when not f.is_in_gap then p.gap_at end, case when not f.is_in_gap then p.gap_id end,
    case when not f.is_in_gap then p.gap_end_at end, case when not f.is_in_gap then p.gap_end_id end,
    c.name, coalesce(s.weight, c.weight)::bigint,
    case when case when s.name is null then c.max_concurrency else s.max_concurrency end is null
      then 0 else 1 end + case when case when s.name is null then c.max_size else s.max_size end is null
      then 0 else 4 end,
    l.is_limited, coalesce(s.paused, false),
    case when l.is_limited then row(
      case when s.name is null then c.max_concurrency else s.max_concurrency end,
      case when s.name is null then c.min_interval_ms else s.min_interval_ms end,
      coalesce(s.burst, c.burst), coalesce(s.limit_epoch, 0))::lonnymq.channel_limits end
  from (
    (
      select p.* from lonnymq.channel_position p
      where p.seat > p_seat and p.seat <= abs(p_lap)
      order by p.seat limit p_most
    )
    union all
    (
      select p.* from lonnymq.channel_position p
      where p_lap >= 0 and p.seat > p_lap and p.seat > p_seat and p.seat <= p_seat_last
      order by p.seat limit p_most
    )
    union all
    (
      select p.* from lonnymq.channel_position p
      where p.seat <= p_seat and p.seat >= p_seat_floor
      order by p.seat limit p_most
    )
    limit p_most
  ) p
  cross join lateral (select * from lonnymq.channel c where c.id = p.channel_id limit 1) c
  left join lateral (
    select * from lonnymq.channel_setting s where s.name = c.name limit 1
  ) s on true
  cross join lateral (
    select case when s.name is null
      then c.max_concurrency is not null or c.min_interval_ms is not null
      else s.max_concurrency is not null or s.min_interval_ms is not null end as is_limited
  ) l
  cross join lateral (
    select n.first_at, n.first_id,
      coalesce((n.first_at, n.first_id) < (p.floor_at, p.floor_id), false) as is_lower,
      coalesce((n.first_at, n.first_id) < (p.gap_end_at, p.gap_end_id), false) as is_in_gap
    from (
      select (n.change ->> 0)::bigint as first_at, (n.change ->> 1)::bigint as first_id
      from (select coalesce(p_pending -> c.name, p_pending -> '') as change) n
    ) n
  ) f
$$;

comment on function lonnymq.ring_seats(bigint, bigint, bigint, bigint, integer, jsonb) is
'The next seats of the ring, in the order of a consumer''s walk.';
