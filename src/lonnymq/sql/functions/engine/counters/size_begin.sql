-- Begins to count the messages of channels that were given a capacity, or that received messages by
-- COPY, up to 100 of them. From then on changes report each message that is added or removed: a create
-- always writes a change, a settlement writes a change if the slot of the lease counts in a capacity.
-- Leases from before the capacity do not count (early_ids): when such a lease has ended, the messages are
-- counted again. As with a first limit, dequeues that may not know the capacity must end first
-- (limit_must_wait). The folder calls this function.
create or replace function lonnymq.size_begin(p_checkpoint lonnymq.checkpoint)
returns void
language plpgsql
as $$
declare
  v_new bigint[];
  v_epochs bigint[];
  v_again bigint[];
  v_ids bigint[];
begin
  select array_agg(-c.id) filter (where c.is_new), array_agg(c.epoch) filter (where c.is_new),
    array_agg(c.id) filter (where not c.is_new)
  into v_new, v_epochs, v_again
  from (
    select c.id, c.recount_after is not distinct from '0'::xid8 as is_new, coalesce((
        select s.limit_epoch from lonnymq.channel_setting s where s.name = c.name
      ), 0) as epoch
    from lonnymq.channel c
    where c.recount_after = '0'::xid8 or c.early_ids is not null
    limit 100
    for update skip locked
  ) c;
  -- Channels whose counter a dequeue holds are counted by a later fold.
  v_ids := lonnymq.channel_counter_lock(array(select -n.id from unnest(v_new) as n (id)) || v_again);
  select array_agg(n.id), array_agg(n.epoch) into v_new, v_epochs
  from unnest(v_new, v_epochs) as n (id, epoch) where -n.id = any (v_ids);
  v_again := array(select a.id from unnest(v_again) as a (id) where a.id = any (v_ids));
  if v_new is not null then
    v_ids := lonnymq.limit_must_wait(v_new, v_epochs);
    v_new := array(select -n.id from unnest(v_new) as n (id) where n.id <> all (v_ids));
  end if;
  with leased as materialized (
    select m.id, m.channel from lonnymq.lease_ids() l
    cross join lateral (select * from lonnymq.message m where m.id = l.id limit 1) m
    where v_new <> '{}' and m.token is not null and m.slot & 4 = 0
  ), picked as materialized (
    select c.id, c.early_ids, case when c.id = any (v_new)
      then (select array_agg(l.id) from leased l where l.channel = c.name)
      else (
        select array_agg(m.id) from unnest(c.early_ids) as e (id)
        cross join lateral (select * from lonnymq.message m where m.id = e.id limit 1) m
        where m.channel = c.name and m.token is not null and m.slot & 4 = 0)
      end as next_ids
    from lonnymq.channel c
    where c.id = any (v_new || v_again)
  ), begun as (
    update lonnymq.channel c set early_ids = p.next_ids
    from picked p
    where c.id = p.id
      and (c.id = any (v_new) or cardinality(p.next_ids) is distinct from cardinality(p.early_ids))
    returning c.id
  )
  select array_agg(b.id) into v_ids from begun b;
  if v_ids is not null then
    perform lonnymq.size_count(v_ids, p_checkpoint);
  end if;
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
