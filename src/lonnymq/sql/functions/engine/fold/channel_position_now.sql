-- The present position of a channel: the newest version.
create or replace function lonnymq.channel_position_now(p_channel_id bigint)
returns setof lonnymq.channel_position
language sql
stable
rows 1
as $$
  select * from lonnymq.channel_position p
  where p.channel_id = p_channel_id
  order by p.version desc limit 1
$$;

comment on function lonnymq.channel_position_now(bigint) is
'The present position of a channel.';
