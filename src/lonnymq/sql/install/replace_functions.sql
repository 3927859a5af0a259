-- Puts this version's functions in place, as a set, unless they are in place already.
-- The installer fills in what has a colon.
--
-- Replacing a function writes a new version of its row in pg_proc: what is still where it was
-- before does not belong to the set and is dropped.
do $install$
declare
  v_check text := current_setting('check_function_bodies');
  v_before text[];
  v_stale text;
begin
  if exists (select from lonnymq.installed i where i.functions_checksum = :checksum) then
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
    select p.oid::regprocedure::text
    from pg_proc p
    where p.pronamespace = 'lonnymq'::regnamespace and p.oid || ' ' || p.ctid = any (v_before)
  loop
    execute 'drop routine ' || v_stale;
  end loop;

  insert into lonnymq.installed (library_version, library_rank, functions_checksum)
  values (:version, :rank, :checksum)
  on conflict (only_row) do update set
    library_version = excluded.library_version,
    library_rank = excluded.library_rank,
    functions_checksum = excluded.functions_checksum,
    installed_at = now();
end
$install$;
