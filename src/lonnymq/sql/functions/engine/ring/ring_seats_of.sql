-- Of these channels those that are in the ring, in the order in which a consumer walks it: as ring_seats,
-- and at the cost of the channels named, however many others there are.
create or replace function lonnymq.ring_seats_of(
  p_channels text[], p_seat bigint, p_lap bigint, p_seat_last bigint, p_seat_floor bigint,
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
  select w.*
  from (select distinct i.name from unnest(p_channels) as i (name)) i
  cross join lateral (select * from lonnymq.channel c where c.name = i.name limit 1) c
  cross join lateral (
    select p.seat from lonnymq.channel_position p where p.channel_id = c.id order by p.version desc limit 1
  ) p
  cross join lateral lonnymq.ring_seats(p.seat - 1, -p.seat, p.seat, p.seat, 1, p_pending) w
  cross join lateral (
    select case
      when w.seat > p_seat and w.seat <= abs(p_lap) then 1
      when p_lap >= 0 and w.seat > p_lap and w.seat > p_seat and w.seat <= p_seat_last then 2
      when w.seat <= p_seat and w.seat >= p_seat_floor then 3
    end as part
  ) o
  where o.part is not null
  order by o.part, w.seat
$$;

comment on function lonnymq.ring_seats_of(text[], bigint, bigint, bigint, bigint, jsonb) is
'The given channels that are in the ring, in the order of a consumer''s walk.';
