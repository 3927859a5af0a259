-- How many messages each of these channels, whose rows the caller has locked, may lease now: under
-- its concurrency, and under its rate by the generic cell rate algorithm, whose one number tat is
-- the moment at which the channel will have paid for what it was given.
create or replace function lonnymq.channel_allow(p_names text[], p_now bigint)
returns table (name text, allowed bigint)
language sql
stable
as $$
  select c.name, greatest(0, least(
    c.max_concurrency - coalesce(m.in_flight, 0),
    case when c.release_interval_ms is not null then
      (p_now + c.burst * c.release_interval_ms - greatest(coalesce(m.tat, 0), p_now))
      / c.release_interval_ms
    end
  ))
  from unnest(p_names) as i (name)
  join lonnymq.channel c on c.name = i.name
  left join lateral (
    select * from lonnymq.meter m where m.channel_id = c.id order by m.version desc limit 1
  ) m on true
  where c.hold is null
$$;

comment on function lonnymq.channel_allow(text[], bigint) is
'How many messages each of these locked channels may lease now.';
