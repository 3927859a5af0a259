-- Of these channels those that are in the ring, in the order in which a consumer walks it: as ring_walk,
-- and at the cost of the channels named, however many others there are.
create or replace function lonnymq.ring_choose(
  p_channels text[], p_seat bigint, p_lap bigint, p_is_tail boolean, p_seat_last bigint,
  p_seat_floor bigint
)
returns table (
  seat bigint, channel_id bigint, floor_at bigint, floor_id bigint, name text, weight bigint,
  max_concurrency integer, release_interval_ms bigint
)
language sql
stable
as $$
  select w.seat, w.channel_id, w.floor_at, w.floor_id, w.name, w.weight, w.max_concurrency,
    w.release_interval_ms
  from (
    select p.seat, p.channel_id, p.floor_at, p.floor_id, c.name, c.weight::bigint, c.max_concurrency,
      c.release_interval_ms,
      case
        when p.seat > p_seat and p.seat <= p_lap then 1
        when not p_is_tail and p.seat > p_lap and p.seat > p_seat and p.seat <= p_seat_last then 2
        when p.seat <= p_seat and p.seat >= p_seat_floor then 3
      end as stretch
    from (select distinct i.name from unnest(p_channels) as i (name)) i
    cross join lateral (select * from lonnymq.channel c where c.name = i.name limit 1) c
    cross join lateral (
      select * from lonnymq.place p where p.channel_id = c.id order by p.version desc limit 1
    ) p
    where p.seat is not null
  ) w
  where w.stretch is not null
  order by w.stretch, w.seat
$$;

comment on function lonnymq.ring_choose(text[], bigint, bigint, boolean, bigint, bigint) is
'Of these channels those that are in the ring, as a consumer walks it.';
