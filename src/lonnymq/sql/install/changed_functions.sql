-- The names of functions that are not in place as this version has them: missing, replaced, altered, or with a
-- namesake that takes other arguments. Rights and owners are looked at by apply_grants.
-- The clock that a test has stopped stays as it is: the table test_clock tells that it has (src/lonnymq/testing.py).
-- The installer and the doctor fill in what has a colon: name, sha256 of the body, volatility and settings of each
-- function, as JSON.
with expected as materialized (
  select e.name, e.body, e.volatility, e.settings
  from jsonb_to_recordset(:functions) as e (name text, body text, volatility text, settings text[])
), present as materialized (
  select p.proname::text as name, encode(sha256(convert_to(p.prosrc, 'UTF8')), 'hex') as body,
    p.provolatile::text as volatility, array(
      select s.setting from unnest(p.proconfig) as s (setting)
      where not (p.prosecdef and s.setting like 'search_path=%')
      order by s.setting collate "C"
    ) as settings
  from pg_proc p
  where p.pronamespace = 'lonnymq'::regnamespace
)
select d.name
from (
  (select * from expected except select * from present)
  union
  (
    select * from present p where p.name in (select e.name from expected e)
    except select * from expected
  )
) d
where d.name <> 'epoch' or to_regclass('lonnymq.test_clock') is null
