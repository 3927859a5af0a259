-- The channels that are held for a reason: saturated, throttled or paused, up to p_limit.
create or replace function lonnymq.channel_held(p_hold text, p_limit integer)
returns table (channel text)
language sql
stable
as $$
  select c.name
  from (
    select p.channel_id from lonnymq.channel_position p
    where p.hold = p_hold order by p.hold, p.channel_id limit p_limit
  ) p
  cross join lateral (select c.name from lonnymq.channel c where c.id = p.channel_id limit 1) c
$$;

comment on function lonnymq.channel_held(text, integer) is
'The channels that are held for a reason.';
