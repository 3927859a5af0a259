-- The counts of a channel now: the newest version.
create or replace function lonnymq.meter_now(p_channel_id bigint)
returns setof lonnymq.meter
language sql
stable
rows 1
as $$
  select * from lonnymq.meter m
  where m.channel_id = p_channel_id
  order by m.version desc limit 1
$$;

comment on function lonnymq.meter_now(bigint) is
'The counts of a channel now.';
