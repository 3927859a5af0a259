-- The grants that are missing: of the owner, who may have lost rights on what it owns, and of the roles of the queue.
-- The installer and the doctor fill in what has a colon.
with thing as materialized (
  select format('schema %I', n.nspname) as name, n.nspowner as owner, null as function,
    acldefault('n', n.nspowner) as own, coalesce(n.nspacl, acldefault('n', n.nspowner)) as acl
  from pg_namespace n where n.nspname = 'lonnymq'
  union all
  select format('%s lonnymq.%I', k.name, c.relname), c.relowner, null,
    acldefault(k.acl, c.relowner), coalesce(c.relacl, acldefault(k.acl, c.relowner))
  from pg_class c
  cross join lateral (
    select case c.relkind when 'S' then 'sequence' else 'table' end as name,
      case c.relkind when 'S' then 's' else 'r' end::"char" as acl  -- noqa: RF06
  ) k
  where c.relnamespace = 'lonnymq'::regnamespace and c.relkind in ('r', 'p', 'S')
  union all
  select format('routine %s', p.oid::regprocedure), p.proowner, p.proname,
    acldefault('f', p.proowner), coalesce(p.proacl, acldefault('f', p.proowner))
  from pg_proc p where p.pronamespace = 'lonnymq'::regnamespace
), wanted as (
  select t.name, t.acl, t.owner as grantee, a.privilege_type
  from thing t cross join lateral aclexplode(t.own) a
  where a.grantee = t.owner
  union all
  select t.name, t.acl, r.grantee, case when t.function is null then 'USAGE' else 'EXECUTE' end
  from lonnymq.installed i
  cross join unnest('{producer,consumer,viewer,admin}'::text[]) as role (name)
  cross join lateral (select to_regrole('lonnymq' || '_' || role.name)::oid as grantee) r
  cross join thing t
  left join (  -- noqa: PRS
:grants
  ) g on g.function = t.function
  where i.roles and r.grantee is not null and (t.name like 'schema %' or role.name = any (g.roles))
)
select format('grant %s on %s to %I',
  lower(string_agg(w.privilege_type, ', ' order by w.privilege_type)), w.name,
  pg_get_userbyid(w.grantee)) as statement
from wanted w
where not exists (
  select from aclexplode(w.acl) a
  where a.grantee = w.grantee and a.privilege_type = w.privilege_type
)
group by w.name, w.grantee
order by 1
