-- Puts this version's functions in place, as a set, unless all are in place already: the catalog is compared with
-- what this version has, so what somebody dropped, replaced or altered comes back.
-- The installer fills in what has a colon.
--
-- Replacing a function writes a new version of its row in pg_proc: what is still where it was
-- before does not belong to the set. Calls that are under way go on with the bodies that they began with,
-- and would miss it: so a name that is gone from the set stays for them until the next install, and what
-- only has other arguments is dropped at once, for it would be taken for the new one.
do $install$
declare
  v_check text := current_setting('check_function_bodies');
  v_before text[];
  v_kept text[] := '{}';
  v_stale record;
  v_has_roles boolean := exists (
    select from pg_proc p where p.pronamespace = 'lonnymq'::regnamespace and p.prosecdef
  );
begin
  if :newer then
    return;
  end if;
  for v_stale in
    select to_regprocedure(s.name)::text as name
    from lonnymq.installed i cross join unnest(i.stale) as s (name)
    where to_regprocedure(s.name) is not null
      and (i.functions_checksum <> :checksum or i.installed_at < now() - interval '1 minute')
  loop
    execute 'drop routine ' || v_stale.name;
    update lonnymq.installed i set stale = '{}';
  end loop;
  update lonnymq.installed i set serves_rank = :serves where i.serves_rank <> :serves::integer[];
  if exists (select from lonnymq.installed i where i.functions_checksum = :checksum)
    and not exists (
:changed
    )
  then
    return;
  end if;
  v_before := array(
    select p.oid || ' ' || p.ctid from pg_proc p where p.pronamespace = 'lonnymq'::regnamespace
  );

  -- A function may call one that comes later in the set.
  perform set_config('check_function_bodies', 'off', true);
  execute :text;
  perform set_config('check_function_bodies', v_check, true);

  for v_stale in
    select p.oid::regprocedure::text as name, exists (
        select from pg_proc n
        where n.pronamespace = p.pronamespace and n.proname = p.proname
          and n.oid || ' ' || n.ctid <> all (v_before)
      ) as is_in_the_way
    from pg_proc p
    where p.pronamespace = 'lonnymq'::regnamespace and p.oid || ' ' || p.ctid = any (v_before)
  loop
    if v_stale.is_in_the_way then
      execute 'drop routine ' || v_stale.name;
    else
      v_kept := v_kept || v_stale.name;
    end if;
  end loop;

  -- Where the row was lost, functions that run with their owner's rights tell that the queue has roles.
  insert into lonnymq.installed (library_version, library_rank, serves_rank, functions_checksum, stale, roles)
  values (:version, :rank, :serves, :checksum, v_kept, v_has_roles)
  on conflict (only_row) do update set
    library_version = excluded.library_version,
    library_rank = excluded.library_rank,
    serves_rank = excluded.serves_rank,
    functions_checksum = excluded.functions_checksum,
    stale = excluded.stale,
    installed_at = now();
end
$install$;
