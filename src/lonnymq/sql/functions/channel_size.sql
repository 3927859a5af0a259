-- How many messages a channel with a capacity holds: what was folded, and what is committed but not
-- folded yet. Both are read from one snapshot, so that no note counts twice.
create or replace function lonnymq.channel_size(p_channel text, p_channel_id bigint)
returns bigint
language sql
stable
as $$
  select coalesce((
    select m.size from lonnymq.meter m
    where m.channel_id = p_channel_id
    order by m.version desc limit 1
  ), 0) + coalesce((
    select sum(n.size) from lonnymq.note n
    where n.channel = p_channel and n.size <> 0
  ), 0)
$$;

comment on function lonnymq.channel_size(text, bigint) is
'How many messages a channel with a capacity holds.';
