-- Begins to count the messages of channels that were given a capacity, or that received messages by
-- COPY. From then on changes report each message that is added or removed: a create always writes a
-- change, a settlement writes a change if the slot of the lease counts in a capacity. Leases from before
-- the capacity do not count (early_ids): when such a lease has ended, the messages are counted again. As
-- with a first limit, dequeues that may not know the capacity must end first (limit_must_wait). The
-- folder calls this function.
create or replace function lonnymq.size_begin(p_checkpoint lonnymq.checkpoint)
returns void
language plpgsql
as $$
declare
  v_channel record;
  v_early bigint[];
begin
  for v_channel in
    select c.name, c.id, c.early_ids,
      c.recount_after is not distinct from '0'::xid8 as is_new, coalesce((
        select s.limit_epoch from lonnymq.channel_setting s where s.name = c.name
      ), 0) as epoch
    from lonnymq.channel c
    where c.recount_after = '0'::xid8 or c.early_ids is not null
    limit 100
    for update skip locked
  loop
    continue when v_channel.is_new and lonnymq.limit_must_wait(-v_channel.id, v_channel.epoch);
    select array_agg(m.id) into v_early
    from (
      select i.id from unnest(v_channel.early_ids) as i (id) where not v_channel.is_new
      union all
      select l.id from lonnymq.lease_ids() l where v_channel.is_new
    ) i
    cross join lateral (select * from lonnymq.message m where m.id = i.id limit 1) m
    where m.channel = v_channel.name and m.token is not null and m.slot & 4 = 0;
    continue when not v_channel.is_new and cardinality(v_early) = cardinality(v_channel.early_ids);
    perform lonnymq.size_count(v_channel.id, v_channel.name, p_checkpoint);
    update lonnymq.channel c set early_ids = v_early where c.id = v_channel.id;
  end loop;
  -- Nobody is left who knew of no capacity; an id above the present ones is another cluster's.
  update lonnymq.channel c set recount_after = null
  where c.ctid = any (array(
    select c.ctid from lonnymq.channel c
    where c.recount_after > '0'::xid8 and (c.recount_after <= pg_snapshot_xmin(pg_current_snapshot())
      or c.recount_after > pg_snapshot_xmax(pg_current_snapshot()))
    limit 1000
    for update skip locked
  ));
end
$$;

comment on function lonnymq.size_begin(lonnymq.checkpoint) is
'Begins to count the messages of channels that were given a capacity.';
