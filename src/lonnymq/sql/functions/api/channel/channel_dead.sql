-- How many dead messages each of some channels has, counted up to 1,000.
create or replace function lonnymq.channel_dead(p_channels text[])
returns table (channel text, dead bigint)
language sql
stable
as $$
  select n.name, d.dead
  from unnest(p_channels) as n (name)
  cross join lateral (
    select count(*) as dead
    from (
      select from lonnymq.dead e where e.channel = n.name order by e.channel, e.id limit 1000
    ) e
  ) d
$$;

comment on function lonnymq.channel_dead(text[]) is
'How many dead messages each of some channels has.';
