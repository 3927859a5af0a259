-- The next seats in the ring of a filter, as ring_seats of the ring of all. With names, only these channels, and at the
-- cost of the names. A held channel is shown as paused: the folder takes its seat (kind_review).
create or replace function lonnymq.ring_seats_kinds(
  p_walk lonnymq.walk, p_channels text[], p_most integer
)
returns table (
  seat bigint, channel_id bigint, floor_at bigint, floor_id bigint, name text, weight bigint,
  bits integer, is_limited boolean, paused boolean, limits lonnymq.channel_limits
)
language sql
stable
as $$
  select p.seat, p.channel_id,
    case when f.is_lower then f.first_at else p.floor_at end,
    case when f.is_lower then f.first_id else p.floor_id end,
    c.name, coalesce(s.weight, c.weight)::bigint,
    case when case when s.name is null then c.max_concurrency else s.max_concurrency end is null
      then 0 else 1 end + case when case when s.name is null then c.max_size else s.max_size end is null
      then 0 else 4 end,
    l.is_limited, coalesce(s.paused, false) or h.hold is not null,
    case when l.is_limited then row(
      case when s.name is null then c.max_concurrency else s.max_concurrency end,
      case when s.name is null then c.min_interval_ms else s.min_interval_ms end,
      coalesce(s.burst, c.burst), coalesce(s.limit_epoch, 0))::lonnymq.channel_limits end
  from (
    (
      select 1 as part, p.* from lonnymq.kind_position p
      where p_channels is null and p.filter_id = p_walk.filter_id
        and p.seat > p_walk.seat and p.seat <= abs(p_walk.lap)
      order by p.seat limit p_most
    )
    union all
    (
      select 2, p.* from lonnymq.kind_position p
      where p_channels is null and p.filter_id = p_walk.filter_id
        and p_walk.lap >= 0 and p.seat > p_walk.lap and p.seat > p_walk.seat and p.seat <= p_walk.seat_last
      order by p.seat limit p_most
    )
    union all
    (
      select 3, p.* from lonnymq.kind_position p
      where p_channels is null and p.filter_id = p_walk.filter_id
        and p.seat <= p_walk.seat and p.seat >= p_walk.seat_floor
      order by p.seat limit p_most
    )
    union all
    (
      select o.part, p.*
      from (select distinct i.name from unnest(p_channels) as i (name)) i
      cross join lateral (select c.id from lonnymq.channel c where c.name = i.name limit 1) c
      cross join lateral (
        select * from lonnymq.kind_position p
        where p.channel_id = c.id and p.filter_id = p_walk.filter_id order by p.version desc limit 1
      ) p
      cross join lateral (
        select case
          when p.seat > p_walk.seat and p.seat <= abs(p_walk.lap) then 1
          when p_walk.lap >= 0 and p.seat > p_walk.lap and p.seat > p_walk.seat
            and p.seat <= p_walk.seat_last then 2
          when p.seat <= p_walk.seat and p.seat >= p_walk.seat_floor then 3
        end as part
      ) o
      where o.part is not null
      order by o.part, p.seat
    )
    limit p_most
  ) p
  cross join lateral (select * from lonnymq.channel c where c.id = p.channel_id limit 1) c
  left join lateral (
    select p.hold from lonnymq.channel_position p
    where p.channel_id = c.id order by p.version desc limit 1
  ) h on true
  left join lateral (
    select * from lonnymq.channel_setting s where s.name = c.name limit 1
  ) s on true
  cross join lateral (
    select h.hold is null and case when s.name is null
      then c.max_concurrency is not null or c.min_interval_ms is not null
      else s.max_concurrency is not null or s.min_interval_ms is not null end as is_limited
  ) l
  cross join lateral (
    select n.first_at, n.first_id,
      coalesce((n.first_at, n.first_id) < (p.floor_at, p.floor_id), false) as is_lower
    from (
      select (n.change ->> 0)::bigint as first_at, (n.change ->> 1)::bigint as first_id
      from (select coalesce(p_walk.pending -> c.name, p_walk.pending -> '') as change) n
    ) n
  ) f
$$;

comment on function lonnymq.ring_seats_kinds(lonnymq.walk, text[], integer) is
'The next seats in the ring of a filter, in the order of a consumer''s walk.';
