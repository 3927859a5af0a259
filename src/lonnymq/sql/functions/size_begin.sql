-- Begins to count the messages of channels that were given a capacity, or into which messages came that
-- are not told of one by one. From then on notes tell of each that comes and goes: those who create always
-- leave one, those who settle leave one where the lease says that it counts. Leases that were taken before
-- the capacity do not, so they are written down and looked after (size_check). As with a first limit, a
-- dequeue that did not know of the capacity has to end first (limit_wait).
-- What is told in notes that are not folded yet is left out: it comes with them. Called by the folder.
create or replace function lonnymq.size_begin(p_tick lonnymq.tick)
returns void
language plpgsql
as $$
declare
  v_channel record;
  v_size bigint;
  v_early bigint[];
begin
  for v_channel in
    select c.name, c.id, coalesce((
        select s.limit_epoch from lonnymq.channel_setting s where s.name = c.name
      ), 0) as epoch
    from lonnymq.channel c
    where c.recount_after = '0'::xid8
    limit 100
    for update skip locked
  loop
    continue when lonnymq.limit_must_wait(-v_channel.id, v_channel.epoch);
    select (select count(*) from lonnymq.message m where m.channel = v_channel.name)
      - coalesce((
        select sum(n.size + n.added) from lonnymq.note n
        where n.quiet = any ('{false,true}') and n.xid >= p_tick.until and n.channel = v_channel.name
      ), 0) - coalesce((
        select sum(n.size + n.added) from lonnymq.note n
        where n.quiet = any ('{false,true}') and n.xid = any (p_tick.again) and n.xid < p_tick.until
          and n.channel = v_channel.name
      ), 0) - coalesce((
        select m.size from lonnymq.meter m
        where m.channel_id = v_channel.id order by m.version desc limit 1
      ), 0),
      (
        select array_agg(m.id) from lonnymq.lease_ids() l
        cross join lateral (select * from lonnymq.message m where m.id = l.id limit 1) m
        where m.channel = v_channel.name and m.token is not null and m.slot & 4 = 0
      )
    into v_size, v_early;
    perform lonnymq.meter_add(v_channel.id, 0, v_size);
    update lonnymq.channel c
    set early_ids = v_early, recount_after = pg_snapshot_xmax(pg_current_snapshot())
    where c.id = v_channel.id;
  end loop;
  -- Nobody is left who knew of no capacity; an id above the present ones is another cluster's.
  update lonnymq.channel c set recount_after = null
  where c.recount_after > '0'::xid8 and (c.recount_after <= pg_snapshot_xmin(pg_current_snapshot())
    or c.recount_after > pg_snapshot_xmax(pg_current_snapshot()));
end
$$;

comment on function lonnymq.size_begin(lonnymq.tick) is
'Begins to count the messages of channels that were given a capacity.';
