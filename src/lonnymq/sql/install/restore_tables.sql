-- Locks: a table without an index or key, against writers, while the index is built.
--
-- Brings back indexes, keys, sequences and the row of queue that somebody dropped or changed.
-- The installer fills in what has a colon.
do $install$
declare
  v_waiting text := current_setting('lock_timeout');
  v_each record;
begin
  if :newer then
    return;
  end if;
  perform set_config('lock_timeout', :waiting, true);
  for v_each in
:missing
  loop
    if v_each.is_other and v_each.is_key then
      execute format('alter table lonnymq.%I drop constraint %I', v_each.relation, v_each.name);
    elsif v_each.is_other then
      execute format('drop index lonnymq.%I', v_each.name);
    end if;
    execute case when v_each.is_key
      then format('alter table lonnymq.%I add constraint %I %s', v_each.relation, v_each.name, v_each.definition)
      else v_each.definition end;
    update lonnymq.installed i set installed_at = now();
  end loop;

  if to_regclass('lonnymq.seat_seq') is null then
    create sequence lonnymq.seat_seq as bigint;
    perform setval('lonnymq.seat_seq', p.seat)
    from lonnymq.channel_position p where p.seat > 0 order by p.seat desc limit 1;
    update lonnymq.installed i set installed_at = now();
  end if;
  if to_regclass('lonnymq.limit_epoch_seq') is null then
    create sequence lonnymq.limit_epoch_seq as bigint;
    perform setval('lonnymq.limit_epoch_seq', e.last)
    from (
      select greatest((select max(s.limit_epoch) from lonnymq.channel_setting s),
        (select max(q.limit_epoch) from lonnymq.queue q)) as last
    ) e
    where e.last > 0;
    update lonnymq.installed i set installed_at = now();
  end if;

  -- The generation is kept in positions of history as well: see queue_generation.
  insert into lonnymq.queue (generation)
  select coalesce((
    select (h.xid::text::bigint >> 44)::integer from lonnymq.history h order by h.xid desc limit 1
  ), 0)
  where not exists (select from lonnymq.queue q)
  on conflict do nothing;
  if found then
    update lonnymq.queue q set table_oid = q.tableoid;
    update lonnymq.queue q set written_by = q.xmin;
    update lonnymq.installed i set installed_at = now();
  end if;
  perform set_config('lock_timeout', v_waiting, true);
end
$install$;
