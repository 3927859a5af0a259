-- By how much a counter is wrong: the leases and the ended leases that are not folded yet, less the
-- counter. Channel 0 is the queue.
create or replace function lonnymq.channel_counter_drift(p_channel_id bigint, p_channel text)
returns bigint
language sql
stable
as $$
  select
    (
      select count(*) from lonnymq.message m
      where case when p_channel_id = 0 then m.slot & 2 = 2
        else m.channel = p_channel and m.slot & 1 = 1 end
    ) + (
      select coalesce(sum(case when p_channel_id = 0 then n.queue_slots else n.slots end), 0)
      from lonnymq.change n
      where p_channel_id = 0 or n.channel = p_channel
    ) + (
      select count(*) from lonnymq.change n cross join unnest(n.slot_channels) as s (channel)
      where p_channel_id <> 0 and s.channel = p_channel
    ) - case when p_channel_id = 0 then lonnymq.queue_in_flight() else coalesce((
      select m.in_flight from lonnymq.channel_counter m
      where m.channel_id = p_channel_id order by m.version desc limit 1
    ), 0) end
$$;

comment on function lonnymq.channel_counter_drift(bigint, text) is
'By how much a counter is wrong.';
