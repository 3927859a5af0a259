"""Checks of the installed schema: version, functions, indexes, settings, sequences, rights and owners."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import version

from lonnymq.client.installation import (
    changed_functions,
    functions_checksum,
    missing_indexes,
    missing_rights,
    newest_migration,
    rank,
    sql_files,
)
from lonnymq.doctor.base import CheckContext, Problem, format_names
from lonnymq.errors import NotInstalled
from lonnymq.results import Repair

VERSION = """
select i.library_version, i.library_rank > %s::integer[] or exists (
    select from {schema}.migration m where m.version > %s
  ), i.functions_checksum = %s, exists (select from {schema}.migration m where m.version = %s),
  coalesce(array_to_string(array(select jsonb_array_elements_text(to_jsonb(i) -> 'serves_rank')), '.'), '0'),
  array(select jsonb_array_elements_text(to_jsonb(i) -> 'serves_rank')::integer) > %s::integer[]
from {schema}.installed i
"""
MISSING_TABLES = """
select t.relation from (select i.relation from ({indexes}) i union select 'stage_row') t
where to_regclass('{schema}.' || t.relation) is null order by 1
"""
INVALID = """
select i.indexrelid::regclass::text from pg_index i
join pg_class c on c.oid = i.indexrelid
where c.relnamespace = '{schema}'::regnamespace and not (i.indisvalid and i.indisready)
  and c.relkind = 'i'
order by 1
"""
SEQUENCES = """
select s.relname, t.relname, a.attname
from pg_class s
join pg_depend d on d.classid = 'pg_class'::regclass and d.objid = s.oid and d.deptype in ('a', 'i')
join pg_class t on t.oid = d.refobjid
join pg_attribute a on a.attrelid = t.oid and a.attnum = d.refobjsubid
where s.relnamespace = '{schema}'::regnamespace and s.relkind = 'S'
order by 1
"""
# Sequences that belong to no column, and a second table with ids of a sequence.
OTHER_SEQUENCES = (
    ("seat_seq", "channel_position", "seat"),
    ("limit_epoch_seq", "channel_setting", "limit_epoch"),
    ("limit_epoch_seq", "queue", "limit_epoch"),
    ("message_id_seq", "dead", "id"),
)
BEHIND = """
select m.highest from (select max(t.{column}) as highest from {schema}.{table} t) m
where m.highest > (select case when s.is_called then s.last_value else s.last_value - 1 end from {schema}.{sequence} s)
"""
MISSING_SEQUENCES = """
select s.name from unnest(%s::text[]) as s (name) where to_regclass('{schema}.' || s.name) is null group by 1 order by 1
"""
SUPERUSER_FUNCTIONS = """
select p.oid::regprocedure::text, r.rolname::text from pg_proc p
join pg_roles r on r.oid = p.proowner and r.rolsuper
where p.pronamespace = '{schema}'::regnamespace and p.prosecdef order by 1
"""
PUBLIC_FUNCTIONS = """
select p.oid::regprocedure::text from pg_proc p
cross join lateral aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
where p.pronamespace = '{schema}'::regnamespace and a.grantee = 0 order by 1
"""
UNSAFE_FUNCTIONS = """
select p.oid::regprocedure::text from pg_proc p
where p.pronamespace = '{schema}'::regnamespace and p.prosecdef
  and 'search_path=pg_catalog, pg_temp' <> all (coalesce(p.proconfig, '{}')) order by 1
"""
GRANTED_TABLES = """
select c.oid::regclass::text || ' to ' || coalesce(r.rolname, 'PUBLIC') from pg_class c
cross join lateral aclexplode(c.relacl) a
left join pg_roles r on r.oid = a.grantee
where c.relnamespace = '{schema}'::regnamespace and a.grantee <> c.relowner and c.relname !~ '^stage_'
group by 1 order by 1
"""
MISSING_QUEUE_ROLES = """
select '{schema}_' || r.name from {schema}.installed i
cross join unnest('{owner,producer,consumer,viewer,admin}'::text[]) with ordinality as r (name, place)
where i.roles and to_regrole('{schema}_' || r.name) is null order by r.place
"""
HAS_PRODUCERS = "select to_regprocedure('{schema}.producer_list()') is not null"
# Where the queue has roles, maintenance runs as its owner, whoever calls it; superusers end and see whom they like.
UNREACHABLE_CONSUMERS = """
select o.rolname::text, array_agg(l.rolname::text order by l.rolname)
from pg_namespace n
join pg_roles o on o.oid = n.nspowner and o.rolname = '{schema}_owner' and not o.rolsuper
join pg_roles l on l.rolcanlogin and not l.rolsuper and not pg_has_role(o.oid, l.oid, 'usage')
  and pg_has_role(l.oid, to_regrole('{schema}_consumer'), 'usage')
where n.nspname = '{schema}'
  and not (pg_has_role(o.oid, 'pg_signal_backend', 'usage') and pg_has_role(o.oid, 'pg_read_all_stats', 'usage'))
group by 1
"""


def check_installed(context: CheckContext) -> Iterator[Problem]:
    """The queue and the library should have the same version."""
    if not context.is_installed:
        yield Problem(
            "installed",
            "broken",
            f"Schema {context.schema} has no queue.",
            context.install_command,
        )
        return
    ours = version("lonnymq")
    newest = newest_migration()
    found = context.rows(VERSION, rank(ours), newest, functions_checksum(), newest, rank(ours))
    if not found:
        yield Problem(
            "installed",
            "broken",
            f"Table {context.schema}.installed is empty, so nobody knows the version of the queue.",
            context.install_command,
        )
    for theirs, is_newer, is_same, is_migrated, oldest, is_refused in found:
        if is_newer and is_refused:
            yield Problem(
                "installed",
                "broken",
                f"The queue was installed by version {theirs}, which serves libraries from version {oldest} on. This "
                f"library has version {ours}.",
                "pip install --upgrade lonnymq",
            )
        elif is_newer:
            yield Problem(
                "installed",
                "note",
                f"The queue was installed by version {theirs}, which is newer than this library, version {ours}, and "
                "still serves this library.",
                "pip install --upgrade lonnymq",
            )
        elif not (is_same and is_migrated):
            yield Problem(
                "installed",
                "warning",
                f"The queue was installed by version {theirs}. The functions or tables differ from this library, "
                f"version {ours}.",
                context.install_command,
            )


def is_of_this_version(context: CheckContext) -> bool:
    """Whether this library has installed the schema, so that both can be compared in detail."""
    try:
        found = context.queue.installed()
    except NotInstalled:  # the schema is damaged
        return True
    ours = found.functions_checksum == functions_checksum()
    return found.library_version is None or (ours and found.migration == newest_migration())


def check_functions(context: CheckContext) -> Iterator[Problem]:
    """Functions that somebody dropped, replaced or altered since the install."""
    if not is_of_this_version(context):
        return
    found = sorted({row[0] for row in context.plain_rows(changed_functions(context.schema))})
    if found:
        yield Problem(
            "functions",
            "broken",
            f"Somebody dropped or changed functions of the queue: {format_names(found)}.",
            context.install_command,
        )


def check_tables(context: CheckContext) -> Iterator[Problem]:
    """Tables that somebody dropped or emptied, and that only a backup has."""
    query = MISSING_TABLES.replace("{indexes}", sql_files("install")["indexes"])
    found = [row[0] for row in context.plain_rows(query.replace("{schema}", context.schema))]
    if "migration" not in found and context.value("select count(*) from {schema}.migration") == 0:
        found = ["migration", *found]
    if found and ("migration" in found or is_of_this_version(context)):
        yield Problem(
            "tables",
            "broken",
            f"Tables of the queue are missing or lost their rows: {format_names(found)}. Restore the tables from a "
            "backup.",
            f"pg_restore --schema {context.schema} --table {found[0]} --dbname DATABASE backup.dump",
        )


def check_indexes(context: CheckContext) -> Iterator[Problem]:
    """Indexes and keys that are missing, or that PostgreSQL does not use because they are invalid."""
    for (index,) in context.rows(INVALID):
        yield Problem(
            "indexes",
            "broken",
            f"Index {index} is invalid after a failed reindex or restore. PostgreSQL does not use the index.",
            f"reindex index {index};",
        )
    if is_of_this_version(context) and (
        found := [row[1] for row in context.plain_rows(missing_indexes(context.schema))]
    ):
        yield Problem(
            "indexes",
            "broken",
            f"Indexes or keys of the queue are missing or changed: {format_names(found)}. The fix blocks writers of "
            "the table while the index is built.",
            context.install_command,
        )


def check_queue_settings(context: CheckContext) -> Iterator[Problem]:
    """The settings of the queue are a row. Without the row no message is created or delivered."""
    if context.value("select count(*) from {schema}.queue") == 0:
        yield Problem(
            "queue settings",
            "broken",
            f"Table {context.schema}.queue is empty, so nobody can create or dequeue messages. The fix creates the row "
            "with default settings. Set your own settings again.",
            context.install_command,
        )


def check_sequence_positions(context: CheckContext) -> Iterator[Problem]:
    """A sequence that is behind the ids of its table gives ids a second time."""
    for (sequence,) in context.rows(MISSING_SEQUENCES, [each[0] for each in OTHER_SEQUENCES]):
        yield Problem(
            "sequence positions",
            "broken",
            f"Sequence {context.schema}.{sequence} is missing. Nobody can dequeue messages.",
            context.install_command,
        )
        return
    for sequence, table, column, highest in find_sequences_behind(context):
        yield Problem(
            "sequence positions",
            "broken",
            f"Sequence {context.schema}.{sequence} is behind column {column} of table {context.schema}.{table}, "
            f"which has reached {highest:,}. New rows get numbers that are in use.",
            context.repair_command,
        )


def find_sequences_behind(context: CheckContext) -> Iterator[tuple[str, str, str, int]]:
    """The sequences that are behind, with table, column and the highest number in use."""
    for sequence, table, column in [*context.rows(SEQUENCES), *OTHER_SEQUENCES]:
        query = BEHIND.replace("{sequence}", sequence)
        for (highest,) in context.rows(query.replace("{table}", table).replace("{column}", column)):
            yield sequence, table, column, highest


def advance_sequences(context: CheckContext) -> Iterator[Repair]:
    """Move the sequences that are behind beyond the numbers in use."""
    for sequence, table, column, highest in find_sequences_behind(context):
        context.value("select setval(%s::regclass, %s)", f"{context.schema}.{sequence}", highest)
        yield Repair(
            "sequence", None, f"{sequence} is at {highest:,}, as column {column} of table {table}"
        )


def check_function_owner(context: CheckContext) -> Iterator[Problem]:
    """Functions that run with the rights of a superuser, as after `pg_restore --no-owner`."""
    found = context.rows(SUPERUSER_FUNCTIONS)
    if not found:
        return
    owner = found[0][1]
    is_own = owner == f"{context.schema}_owner"
    yield Problem(
        "function owner",
        "broken",
        f"{format_names([name for name, _ in found])} runs with the rights of superuser {owner} for everybody who may "
        "call the queue.",
        f'alter role "{owner}" nosuperuser;' if is_own else context.install_command,
    )


def check_missing_rights(context: CheckContext) -> Iterator[Problem]:
    """Roles of the queue that do not exist, and rights that somebody revoked from the owner or from the roles."""
    if roles := [row[0] for row in context.rows(MISSING_QUEUE_ROLES)]:
        yield Problem(
            "missing rights",
            "broken",
            f"Roles of the queue do not exist on this server, as after a restore: {format_names(roles)}.",
            context.install_command,
        )
    found = [row[0] for row in context.plain_rows(missing_rights(context.schema))]
    if found and is_of_this_version(context):
        yield Problem(
            "missing rights",
            "broken",
            f"Somebody revoked rights that the queue needs. The fix runs: {format_names(found)}.",
            context.install_command,
        )


def check_privileges(context: CheckContext) -> Iterator[Problem]:
    """Functions that everybody may call, unsafe functions, and tables that somebody granted."""
    if found := [name for (name,) in context.rows(PUBLIC_FUNCTIONS)]:
        yield Problem(
            "privileges",
            "warning",
            f"Everybody may call {format_names(found)}. An install revokes the right from PUBLIC.",
            context.install_command,
        )
    if found := [name for (name,) in context.rows(UNSAFE_FUNCTIONS)]:
        yield Problem(
            "privileges",
            "broken",
            f"{format_names(found)} runs with the rights of the owner and the search_path of the caller. "
            "The caller can run any code with the rights of the owner.",
            context.install_command,
        )
    if found := [name for (name,) in context.rows(GRANTED_TABLES)]:
        yield Problem(
            "privileges",
            "note",
            f"Somebody granted tables: {format_names(found)}. The roles of the queue need no such grants.",
        )
    if context.value(HAS_PRODUCERS) and (
        found := [each.role for each in context.queue.producer_list() if not each.is_known]
    ):
        yield Problem(
            "privileges",
            "note",
            f"The role {format_names([repr(each) for each in found])} is restricted but does not exist. "
            "If somebody renamed the role, the role is not restricted any more.",
            f"lonnymq role list{context.schema_option}",
        )


def check_stopped_consumers(context: CheckContext) -> Iterator[Problem]:
    """Maintenance ends a consumer that hangs during a dequeue, if the owner of the queue has the right."""
    for owner, logins in context.rows(UNREACHABLE_CONSUMERS):
        yield Problem(
            "stopped consumers",
            "note",
            f"If {format_names(logins)} hangs during a dequeue, maintenance cannot end the session. "
            "All other consumers wait until the network connection times out.",
            f'grant pg_signal_backend, pg_read_all_stats to "{owner}";',
        )
