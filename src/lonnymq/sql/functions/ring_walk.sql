-- The next seats of the ring after p_seat, as a consumer walks it: to the end of its lap, then those who
-- sat down during the lap up to p_seat_last (unless it is in that tail already), then from the start.
-- Written into the query that calls it: it costs no call.
create or replace function lonnymq.ring_walk(
  p_seat bigint, p_lap bigint, p_is_tail boolean, p_seat_last bigint, p_seat_floor bigint,
  p_most integer
)
returns table (
  seat bigint, channel_id bigint, floor_at bigint, floor_id bigint, name text, weight bigint,
  max_concurrency integer, release_interval_ms bigint
)
language sql
stable
as $$
  select p.seat, p.channel_id, p.floor_at, p.floor_id, c.name, c.weight::bigint, c.max_concurrency,
    c.release_interval_ms
  from (
    (
      select p.seat, p.channel_id, p.floor_at, p.floor_id from lonnymq.place p
      where p.seat > p_seat and p.seat <= p_lap
      order by p.seat limit p_most
    )
    union all
    (
      select p.seat, p.channel_id, p.floor_at, p.floor_id from lonnymq.place p
      where not p_is_tail and p.seat > p_lap and p.seat > p_seat and p.seat <= p_seat_last
      order by p.seat limit p_most
    )
    union all
    (
      select p.seat, p.channel_id, p.floor_at, p.floor_id from lonnymq.place p
      where p.seat <= p_seat and p.seat >= p_seat_floor
      order by p.seat limit p_most
    )
    limit p_most
  ) p
  cross join lateral (select * from lonnymq.channel c where c.id = p.channel_id limit 1) c
$$;

comment on function lonnymq.ring_walk(bigint, bigint, boolean, bigint, bigint, integer) is
'The next seats of the ring, as a consumer walks it.';
