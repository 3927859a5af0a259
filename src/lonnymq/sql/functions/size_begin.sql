-- Begins to count the messages of channels that were given a capacity, or into which messages came that
-- are not told of one by one. From then on notes tell of each that comes and goes: those who create always
-- leave one, those who settle leave one where the lease says that it counts in a capacity. Leases that
-- were taken before the capacity do not say so: counting begins when the last of them has ended
-- (early_ids), and until then channel_size counts one by one. As with a first limit, a dequeue that did
-- not know of the capacity has to end first (limit_must_wait).
-- What is told in notes that are not folded yet is left out: it comes with them. Called by the folder.
create or replace function lonnymq.size_begin(p_tick lonnymq.tick)
returns void
language plpgsql
as $$
declare
  v_channel record;
  v_early bigint[];
begin
  for v_channel in
    select c.name, c.id, c.early_ids, coalesce((
        select s.limit_epoch from lonnymq.channel_setting s where s.name = c.name
      ), 0) as epoch
    from lonnymq.channel c
    where c.recount_after = '0'::xid8
    limit 100
    for update skip locked
  loop
    continue when v_channel.early_ids is null
      and lonnymq.limit_must_wait(-v_channel.id, v_channel.epoch);
    select coalesce(array_agg(m.id), '{}') into v_early
    from (
      select i.id from unnest(v_channel.early_ids) as i (id)
      union all
      select l.id from lonnymq.lease_ids() l where v_channel.early_ids is null
    ) i
    cross join lateral (select * from lonnymq.message m where m.id = i.id limit 1) m
    where m.channel = v_channel.name and m.token is not null and m.slot & 4 = 0;
    if v_early = '{}' then
      perform lonnymq.size_count(v_channel.id, v_channel.name, p_tick);
    elsif v_early is distinct from v_channel.early_ids then
      update lonnymq.channel c set early_ids = v_early where c.id = v_channel.id;
    end if;
  end loop;
  -- Nobody is left who knew of no capacity; an id above the present ones is another cluster's.
  update lonnymq.channel c set recount_after = null
  where c.recount_after > '0'::xid8 and (c.recount_after <= pg_snapshot_xmin(pg_current_snapshot())
    or c.recount_after > pg_snapshot_xmax(pg_current_snapshot()));
end
$$;

comment on function lonnymq.size_begin(lonnymq.tick) is
'Begins to count the messages of channels that were given a capacity.';
