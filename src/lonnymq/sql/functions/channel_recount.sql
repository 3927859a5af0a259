-- Counts the messages of channels that were given a capacity: at once, and once more when every
-- transaction that ran at that time has ended, for those did not leave notes of what they did.
-- What is told in notes that are not folded yet is left out: it comes with them.
create or replace function lonnymq.channel_recount(p_snapshot pg_snapshot)
returns void
language plpgsql
as $$
declare
  v_channel record;
begin
  for v_channel in
    select c.name, c.id, c.recount_after
    from lonnymq.channel c
    where c.recount_after <= pg_snapshot_xmin(p_snapshot)
    order by c.recount_after
    limit 100
    for update skip locked
  loop
    perform lonnymq.meter_add(v_channel.id, 0, (
      select
        (select count(*) from lonnymq.message m where m.channel = v_channel.name)
        - lonnymq.channel_size(v_channel.name, v_channel.id)
    ));
    update lonnymq.channel c
    set recount_after = case
      when v_channel.recount_after = '0'::xid8 then pg_snapshot_xmax(pg_current_snapshot()) end
    where c.name = v_channel.name;
  end loop;
end
$$;

comment on function lonnymq.channel_recount(pg_snapshot) is
'Counts the messages of channels that were given a capacity.';
