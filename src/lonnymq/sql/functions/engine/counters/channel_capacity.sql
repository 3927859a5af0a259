-- The capacity of a channel: see channel_policy. Null: none.
create or replace function lonnymq.channel_capacity(p_channel text, out max_size bigint)
language sql
stable
as $$
  select case when s.name is not null then s.max_size when c.name is not null
    then c.max_size else q.default_max_size end
  from lonnymq.queue q
  left join lonnymq.channel_setting s on s.name = p_channel
  left join lonnymq.channel c on c.name = p_channel
  where q.only_row
$$;

comment on function lonnymq.channel_capacity(text) is
'The capacity of a channel.';
