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
# Where the queue has roles, a sweep runs as its owner, whoever calls it; superusers end and see whom they like.
UNREACHED = """
select o.rolname::text, array_agg(l.rolname::text order by l.rolname)
from pg_namespace n
join pg_roles o on o.oid = n.nspowner and o.rolname = '{schema}_owner' and not o.rolsuper
join pg_roles l on l.rolcanlogin and not l.rolsuper and not pg_has_role(o.oid, l.oid, 'usage')
  and pg_has_role(l.oid, to_regrole('{schema}_consumer'), 'usage')
where n.nspname = '{schema}'
  and not (pg_has_role(o.oid, 'pg_signal_backend', 'usage') and pg_has_role(o.oid, 'pg_read_all_stats', 'usage'))
group by 1
"""


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


def stopped_consumers(patient: Patient) -> Iterator[Finding]:
    """A consumer that stops to read in the middle of a dequeue is ended by a sweep, if its owner may do that."""
    for owner, logins in patient.rows(UNREACHED):
        yield Finding(
            "stopped consumers",
            "note",
            f"Should {logins[0]}{others(logins)} stop to read in the middle of a dequeue, no sweep may end its "
            "session: all others wait until the network gives up.",
            f'grant pg_signal_backend, pg_read_all_stats to "{owner}";',
        )


def others(found: list[str]) -> str:
    """How many more there are."""
    return f" and {len(found) - 1} more" if len(found) > 1 else ""
