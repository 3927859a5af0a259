-- What each of these channels, whose rows the caller has locked, may lease now: how many under its
-- concurrency, and under its rate by the generic cell rate algorithm; and whether the lease counts in
-- its meter. None of a channel that has lost its seat.
create or replace function lonnymq.channel_allow(p_ids bigint[], p_now bigint)
returns table (id bigint, allowed bigint, counts integer)
language sql
stable
as $$
  select c.id, greatest(0, least(
      c.max_concurrency - coalesce(m.in_flight, 0),
      case when c.release_interval_ms is not null then
        (p_now + c.burst * c.release_interval_ms - greatest(coalesce(m.tat, 0), p_now))
        / c.release_interval_ms
      end
    )),
    (c.max_concurrency is not null)::integer
  from unnest(p_ids) as i (id)
  cross join lateral (select * from lonnymq.channel c where c.id = i.id limit 1) c
  cross join lateral (
    select * from lonnymq.place p where p.channel_id = i.id order by p.version desc limit 1
  ) p
  left join lateral (
    select * from lonnymq.meter m where m.channel_id = i.id order by m.version desc limit 1
  ) m on true
  where p.seat is not null
$$;

comment on function lonnymq.channel_allow(bigint[], bigint) is
'What each of these locked channels may lease now.';
