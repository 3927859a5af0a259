-- Looks after leases that were taken before their channel's capacity: those whose messages are gone have
-- not told of it. Called by the folder.
create or replace function lonnymq.size_check()
returns void
language plpgsql
as $$
declare
  v_channel record;
  v_left bigint[];
begin
  for v_channel in
    select c.id, c.early_ids from lonnymq.channel c where c.early_ids is not null
    order by c.id limit 100
    for update skip locked
  loop
    select array_agg(m.id) into v_left
    from unnest(v_channel.early_ids) as i (id)
    cross join lateral (select m.id from lonnymq.message m where m.id = i.id limit 1) m;
    continue when cardinality(v_left) = cardinality(v_channel.early_ids);
    perform lonnymq.meter_add(v_channel.id, 0,
      coalesce(cardinality(v_left), 0) - cardinality(v_channel.early_ids));
    update lonnymq.channel c set early_ids = v_left where c.id = v_channel.id;
  end loop;
end
$$;

comment on function lonnymq.size_check() is
'Looks after leases that were taken before their channel''s capacity.';
