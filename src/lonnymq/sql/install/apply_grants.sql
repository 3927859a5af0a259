-- Gives everybody the rights that grants.sql says, and takes from PUBLIC what functions have by default.
-- The installer fills in what has a colon: grants, and roles, which is null to leave that as it is.
--
-- Without roles all functions run with the rights of who calls them, and only the owner may.
-- With roles the functions of the table run with the rights of a role that owns everything and cannot log
-- in. Their search_path is fixed, with pg_temp last: what they name without a schema is PostgreSQL's own.
--
-- Looks at what there is and changes only what differs, so it mends what somebody broke. Rights that were
-- given to others by hand stay.
do $install$
declare
  c_roles constant text[] := '{producer,consumer,viewer,admin}';
  c_confined constant text[] :=
    '{message channel,change channel,dead channel,history channel,schedule channel,channel name,channel_setting name}';
  v_prefix constant text := 'lonnymq' || '_';
  v_owner constant text := v_prefix || 'owner';
  v_is_on boolean := :roles;
  v_was_on boolean := (select i.roles from lonnymq.installed i);
  v_missing text[];
  v_waiting text := current_setting('lock_timeout');
  v_each record;
  v_role text;
begin
  if :newer then
    return;
  end if;
  perform set_config('lock_timeout', :waiting, true);
  v_is_on := coalesce(v_is_on, v_was_on);

  if v_is_on then
    v_missing := array(
      select v_prefix || r.name
      from unnest(array_prepend('owner', c_roles)) with ordinality as r (name, place)
      where not exists (select from pg_roles p where p.rolname = v_prefix || r.name)
      order by r.place
    );
    if cardinality(v_missing) > 0
      and not (select p.rolsuper or p.rolcreaterole from pg_roles p where p.rolname = current_user)
    then
      raise exception using errcode = 'LM008',
        message = format('%s may not create the roles of the queue: %s', current_user,
          array_to_string(v_missing, ', ')),
        hint = format('Have them created by somebody who may, and install again: %s; grant %I to %I;', (
          select string_agg(format('create role %I', m), '; ') from unnest(v_missing) as m
        ), v_owner, current_user);
    end if;
    foreach v_role in array v_missing loop
      begin
        execute format('create role %I nologin', v_role);
      exception when duplicate_object or unique_violation then
        null;  -- by an installer in another database of this cluster
      end;
    end loop;
    if not pg_has_role(current_user, v_owner, 'usage') then
      begin
        execute format('grant %I to %I', v_owner, current_user);
      exception when insufficient_privilege then
        raise exception using errcode = 'LM008',
          message = format('%s is no member of %s', current_user, v_owner),
          hint = format('Have it run by somebody who may, and install again: grant %I to %I;', v_owner,
            current_user);
      end;
    end if;

    for v_each in
      select format('schema %I', n.nspname) as thing from pg_namespace n
      where n.nspname = 'lonnymq' and n.nspowner <> v_owner::regrole
      union all
      select format('%s %s', case c.relkind when 'S' then 'sequence' when 'c' then 'type' else 'table' end,
        c.oid::regclass)
      from pg_class c
      where c.relnamespace = 'lonnymq'::regnamespace and c.relkind in ('r', 'p', 'S', 'c')
        and c.relowner <> v_owner::regrole
        -- A sequence of a column goes with its table.
        and not exists (
          select from pg_depend d
          where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype in ('a', 'i')
            and c.relkind = 'S'
        )
      union all
      select format('routine %s', p.oid::regprocedure) from pg_proc p
      where p.pronamespace = 'lonnymq'::regnamespace and p.proowner <> v_owner::regrole
    loop
      execute format('alter %s owner to %I', v_each.thing, v_owner);
    end loop;
    if not exists (
      select from pg_default_acl d
      where d.defaclrole = v_owner::regrole and d.defaclnamespace = 0 and d.defaclobjtype = 'f'
    ) then
      execute format('alter default privileges for role %I revoke execute on routines from public', v_owner);
    end if;
  end if;
  if v_is_on is distinct from v_was_on then
    update lonnymq.installed i set roles = v_is_on;
  end if;
  for v_each in
:missing
  loop
    execute v_each.statement;
    update lonnymq.installed i set installed_at = now();
  end loop;

  if exists (
    select from pg_proc p
    cross join lateral aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
    where p.pronamespace = 'lonnymq'::regnamespace and a.grantee = 0
  ) then
    revoke execute on all routines in schema lonnymq from public;
  end if;

  if v_is_on or v_was_on or exists (
    select from pg_proc p where p.pronamespace = 'lonnymq'::regnamespace and p.prosecdef
  ) then
    for v_each in
      select p.oid::regprocedure::text as name, p.prosecdef,
        p.prosecdef and 'search_path=pg_catalog, pg_temp' = any (p.proconfig) as is_definer,
        v_is_on and coalesce(g.runs_as = 'owner', false) as is_wanted,
        array(
          select r.name from unnest(c_roles) as r (name)
          where exists (
            select from aclexplode(p.proacl) a
            where a.grantee = to_regrole(v_prefix || r.name) and a.privilege_type = 'EXECUTE'
          )
        ) as has,
        array(
          select r.name from unnest(c_roles) as r (name) where v_is_on and r.name = any (g.roles)
        ) as wants
      from pg_proc p
      left join (
:grants
      ) g on g.function = p.proname
      where p.pronamespace = 'lonnymq'::regnamespace
    loop
      if v_each.is_wanted and not coalesce(v_each.is_definer, false) then
        execute format('alter routine %s security definer set search_path = pg_catalog, pg_temp', v_each.name);
      elsif v_each.prosecdef and not v_each.is_wanted then
        execute format('alter routine %s security invoker reset search_path', v_each.name);
      end if;
      for v_role in select unnest(v_each.has) except select unnest(v_each.wants) loop
        execute format('revoke execute on routine %s from %I', v_each.name, v_prefix || v_role);
      end loop;
    end loop;

    -- The second line: whoever is given rights on these tables sees and writes their own channels only.
    for v_each in
      select split_part(t.pair, ' ', 1) as name, split_part(t.pair, ' ', 2) as channel
      from unnest(c_confined) as t (pair)
      join pg_class c on c.oid = to_regclass('lonnymq.' || split_part(t.pair, ' ', 1))
      where c.relrowsecurity <> v_is_on or v_is_on <> exists (
        select from pg_policy y where y.polrelid = c.oid and y.polname = 'restricted'
      )
    loop
      execute format('drop policy if exists restricted on lonnymq.%I', v_each.name);
      if v_is_on then
        execute format('create policy restricted on lonnymq.%I using (lonnymq.channel_permitted(%I))',
          v_each.name, v_each.channel);
      end if;
      execute format('alter table lonnymq.%I %s row level security', v_each.name,
        case when v_is_on then 'enable' else 'disable' end);
    end loop;
  end if;
  perform set_config('lock_timeout', v_waiting, true);
end
$install$;
