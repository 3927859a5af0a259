"""Whether rights are as the installer gave them: an install mends what somebody changed."""

from __future__ import annotations

from collections.abc import Iterator

from lonnymq.doctor.finding import Finding
from lonnymq.doctor.patient import Patient

OPEN = """
select p.oid::regprocedure::text from pg_proc p
cross join lateral aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
where p.pronamespace = '{schema}'::regnamespace and a.grantee = 0 order by 1
"""
LOOSE = """
select p.oid::regprocedure::text from pg_proc p
where p.pronamespace = '{schema}'::regnamespace and p.prosecdef
  and 'search_path=pg_catalog, pg_temp' <> all (coalesce(p.proconfig, '{}')) order by 1
"""
GRANTED = """
select c.oid::regclass::text || ' to ' || coalesce(r.rolname, 'PUBLIC') from pg_class c
cross join lateral aclexplode(c.relacl) a
left join pg_roles r on r.oid = a.grantee
where c.relnamespace = '{schema}'::regnamespace and a.grantee <> c.relowner and c.relname !~ '^stage_'
group by 1 order by 1
"""
IS_KNOWN_HERE = "select to_regprocedure('{schema}.producer_list()') is not null"
UNKNOWN = "select l.role from {schema}.producer_list() l where not l.is_known"


def privileges(patient: Patient) -> Iterator[Finding]:
    """Functions that everybody may call, or that run as their owner on a path of the caller's; granted tables."""
    option = "" if patient.schema == "lonnymq" else f" --schema {patient.schema}"
    if found := [name for (name,) in patient.rows(OPEN)]:
        yield Finding(
            "privileges",
            "warning",
            f"Everybody may call {found[0]}{others(found)}: an install takes that from PUBLIC.",
            f"lonnymq install{option}",
        )
    if found := [name for (name,) in patient.rows(LOOSE)]:
        yield Finding(
            "privileges",
            "broken",
            f"{found[0]}{others(found)} runs with its owner's rights on the search_path of whoever calls it, "
            "who may have it run anything.",
            f"lonnymq install{option}",
        )
    if found := [name for (name,) in patient.rows(GRANTED)]:
        yield Finding(
            "privileges",
            "note",
            f"Tables were granted by hand: {found[0]}{others(found)}. The queue's own roles need none.",
        )
    if patient.value(IS_KNOWN_HERE) and (found := [name for (name,) in patient.rows(UNKNOWN)]):
        yield Finding(
            "privileges",
            "note",
            f"The role '{found[0]}'{others(found)} is confined, and there is none of that name: one that was renamed "
            "is free.",
            f"lonnymq role list{option}",
        )


def others(found: list[str]) -> str:
    """How many more there are."""
    return f" and {len(found) - 1} more" if len(found) > 1 else ""
