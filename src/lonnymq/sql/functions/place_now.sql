-- Where a channel stands now: the newest version.
create or replace function lonnymq.place_now(p_channel_id bigint)
returns setof lonnymq.place
language sql
stable
rows 1
as $$
  select * from lonnymq.place p
  where p.channel_id = p_channel_id
  order by p.version desc limit 1
$$;

comment on function lonnymq.place_now(bigint) is
'Where a channel stands now.';
