-- Counts the dead messages of the given channels, up to 1,000 per channel.
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
'Counts the dead messages of the given channels.';
