-- Counts the messages of channels that were given a capacity, or into which messages came that were not
-- told of one by one: at once, and once more when every transaction that ran at that time has ended, for
-- those may not have left notes of what they did. What is told in notes that are not folded yet is left
-- out: it comes with them. Called by the folder.
create or replace function lonnymq.channel_recount(p_tick lonnymq.tick)
returns void
language plpgsql
as $$
declare
  v_snapshot pg_snapshot := pg_current_snapshot();
  v_channel record;
begin
  -- An id above the present ones is another cluster's, from before a restore.
  for v_channel in
    select c.name, c.id, c.recount_after
    from lonnymq.channel c
    where c.recount_after <= pg_snapshot_xmin(v_snapshot)
      or c.recount_after > pg_snapshot_xmax(v_snapshot)
    limit 100
    for update skip locked
  loop
    perform lonnymq.meter_add(v_channel.id, 0, (
      select
        (select count(*) from lonnymq.message m where m.channel = v_channel.name)
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
        ), 0)
    ));
    update lonnymq.channel c
    set recount_after = case
      when v_channel.recount_after = '0'::xid8 then pg_snapshot_xmax(pg_current_snapshot()) end
    where c.id = v_channel.id;
  end loop;
end
$$;

comment on function lonnymq.channel_recount(lonnymq.tick) is
'Counts the messages of channels that were given a capacity.';
