-- Counts the messages of channels, less the changes that are not folded yet. Transactions that run now and
-- do not know the capacity still write changes (recount_after, channel_size).
create or replace function lonnymq.size_count(p_ids bigint[], p_checkpoint lonnymq.checkpoint)
returns void
language plpgsql
as $$
begin
  perform lonnymq.channel_counter_move(array_agg(c.id), array_agg(0::bigint), array_agg(c.delta))
  from (
    with names as materialized (
      select c.id, c.name from lonnymq.channel c where c.id = any (p_ids)
    ), unfolded as materialized (
      select n.channel, sum(n.size + n.added) as size
      from (
        select n.channel, n.size, n.added from lonnymq.change n
        where n.can_wait = any ('{false,true}') and n.xid >= p_checkpoint.until_xid
        union all
        select n.channel, n.size, n.added from lonnymq.change n
        where n.can_wait = any ('{false,true}') and n.xid = any (p_checkpoint.running_xids)
          and n.xid < p_checkpoint.until_xid
      ) n
      where n.channel = any (array(select c.name from names c))
      group by n.channel
    )
    select c.id, (select count(*) from lonnymq.message m where m.channel = c.name)
      - coalesce((select u.size from unfolded u where u.channel = c.name), 0)
      - coalesce((
        select m.size from lonnymq.channel_counter m
        where m.channel_id = c.id order by m.version desc limit 1
      ), 0) as delta
    from names c
  ) c;
  update lonnymq.channel c set recount_after = pg_snapshot_xmax(pg_current_snapshot())
  where c.id = any (p_ids);
end
$$;

comment on function lonnymq.size_count(bigint[], lonnymq.checkpoint) is
'Counts the messages of channels that have a capacity.';
