-- The indexes and keys of indexes.sql that are not in place as the file says.
-- The installer and the doctor fill in what has a colon. An index of a partitioned table calls itself "on only".
select e.relation, e.name, e.definition, c.oid is not null as is_other, e.is_key
from (  -- noqa: PRS
:indexes
) as e
left join pg_class c on c.relnamespace = 'lonnymq'::regnamespace and c.relname = e.name
left join pg_constraint k on k.conindid = c.oid and k.contype in ('p', 'u') and e.is_key
where to_regclass('lonnymq.' || e.relation) is not null
  and e.definition is distinct from case when e.is_key then pg_get_constraintdef(k.oid)
    else regexp_replace(pg_get_indexdef(c.oid), ' ON (ONLY )?[^ ]+\.', ' ON lonnymq.') end
