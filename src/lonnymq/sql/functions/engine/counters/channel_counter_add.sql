-- Adds to the counters of a channel that the caller has locked (channel_counter_lock), or to part 0 of the queue's own
-- limit, under the fold lock.
create or replace function lonnymq.channel_counter_add(
  p_channel_id bigint, p_in_flight bigint, p_size bigint, p_epoch bigint default null
)
returns void
language plpgsql
as $$
begin
  perform lonnymq.channel_counter_move(array[p_channel_id], array[p_in_flight], array[p_size]);
  if p_epoch is not null then
    update lonnymq.channel_counter m set epoch = p_epoch
    where m.ctid = (
      select n.ctid from lonnymq.channel_counter n
      where n.channel_id = p_channel_id order by n.version desc limit 1
    );
  end if;
end
$$;

comment on function lonnymq.channel_counter_add(bigint, bigint, bigint, bigint) is
'Adds to the counters of a locked channel.';
