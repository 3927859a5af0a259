-- Adds to the counters of a channel whose row the caller has locked (0: the queue, under the fold lock).
-- A new version of the row is inserted and the old version is deleted: see the table.
create or replace function lonnymq.channel_counter_add(
  p_channel_id bigint, p_in_flight bigint, p_size bigint, p_epoch bigint default null
)
returns void
language plpgsql
as $$
declare
  v_old lonnymq.channel_counter;
begin
  select * into v_old from lonnymq.channel_counter m
  where m.channel_id = p_channel_id
  order by m.version desc limit 1;
  insert into lonnymq.channel_counter (channel_id, version, in_flight, size, tat, epoch)
  values (p_channel_id, coalesce(v_old.version, 0) + 1, coalesce(v_old.in_flight, 0) + p_in_flight,
    coalesce(v_old.size, 0) + p_size, coalesce(v_old.tat, 0), coalesce(p_epoch, v_old.epoch, 0));
  delete from lonnymq.channel_counter m
  where m.channel_id = p_channel_id and m.version = v_old.version;
end
$$;

comment on function lonnymq.channel_counter_add(bigint, bigint, bigint, bigint) is
'Adds to the counters of a locked channel.';
