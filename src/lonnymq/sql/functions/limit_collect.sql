-- Writes down the leases of a channel, or of the whole queue (channel 0), that its limit does not count.
-- Every lease is in lease or in a note, so this costs what is leased, not what is waiting.
-- Answers: how many there are.
create or replace function lonnymq.limit_collect(p_channel_id bigint, p_channel text)
returns bigint
language sql
volatile
as $$
  with watched as materialized (
    select distinct i.id
    from (
      select l.message_ids from lonnymq.lease l
      union all
      select n.message_ids from lonnymq.note n where n.quiet = any ('{false,true}')
        and n.message_ids is not null
    ) l
    cross join unnest(l.message_ids) as i (id)
  ), found as (
    insert into lonnymq.uncounted (channel_id, message_id, token)
    select p_channel_id, m.id, m.token
    from watched w
    cross join lateral (select * from lonnymq.message m where m.id = w.id limit 1) m
    where m.token is not null
      and case when p_channel_id = 0 then m.slot & 2 = 0
        else m.channel = p_channel and m.slot & 1 = 0 end
    on conflict (channel_id, message_id) do nothing
    returning 1
  )
  select count(*) from found
$$;

comment on function lonnymq.limit_collect(bigint, text) is
'Writes down the leases of a channel that its limit does not count.';
