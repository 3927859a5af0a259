-- Counts the messages of a channel, less the changes that are not folded yet. Transactions that run now
-- and do not know the capacity still write changes (recount_after, channel_size).
create or replace function lonnymq.size_count(
  p_channel_id bigint, p_channel text, p_checkpoint lonnymq.checkpoint
)
returns void
language plpgsql
as $$
begin
  perform lonnymq.channel_counter_add(p_channel_id, 0, (
    select (select count(*) from lonnymq.message m where m.channel = p_channel)
      - coalesce((
        select sum(n.size + n.added) from lonnymq.change n
        where n.can_wait = any ('{false,true}') and n.xid >= p_checkpoint.until_xid and n.channel = p_channel
      ), 0) - coalesce((
        select sum(n.size + n.added) from lonnymq.change n
        where n.can_wait = any ('{false,true}') and n.xid = any (p_checkpoint.running_xids)
          and n.xid < p_checkpoint.until_xid
          and n.channel = p_channel
      ), 0) - coalesce((
        select m.size from lonnymq.channel_counter m
        where m.channel_id = p_channel_id order by m.version desc limit 1
      ), 0)
  ));
  update lonnymq.channel c
  set recount_after = pg_snapshot_xmax(pg_current_snapshot())
  where c.id = p_channel_id;
end
$$;

comment on function lonnymq.size_count(bigint, text, lonnymq.checkpoint) is
'Counts the messages of a channel that has a capacity.';
