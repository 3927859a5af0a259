"""Checks of the queue: version, privileges, invariants, sweeps, workers, schedules and dead messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from importlib.metadata import version

from lonnymq.client.installation import rank, sql_files
from lonnymq.doctor.base import CheckContext, Problem

VERSION = """
select i.library_version, i.library_rank > %s::integer[] or exists (
    select from {schema}.migration m where m.version > %s
  ), i.functions_checksum = %s
from {schema}.installed i
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
HAS_PRODUCERS = "select to_regprocedure('{schema}.producer_list()') is not null"
MISSING_ROLES = "select l.role from {schema}.producer_list() l where not l.is_known"
# Where the queue has roles, a sweep runs as its owner, whoever calls it; superusers end and see whom they like.
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
DAY_MS = 86_400_000
REPAIR = "lonnymq doctor --repair"
EXPECTED_DAY = """
select to_regclass(format('{schema}.history_%%s',
  to_char(to_timestamp({schema}.epoch() / 1000) at time zone 'UTC' + interval '7 days', 'YYYYMMDD'))) is not null,
  q.history <> 'off'
from {schema}.queue q
"""
OLD_DAYS = """
select count(*), min(c.relname) from pg_inherits i
join pg_class c on c.oid = i.inhrelid
join {schema}.queue q on q.history_keep_ms is not null
where i.inhparent = '{schema}.history'::regclass and c.relname ~ '^history_[0-9]{8}$'
  and (extract(epoch from (to_date(right(c.relname, 8), 'YYYYMMDD') + 1)::timestamp) * 1000)::bigint
    < {schema}.epoch() - q.history_keep_ms - %s
"""
SLOW_READER = """
select r.name, extract(epoch from clock_timestamp() - r.confirmed_at)::bigint * 1000
from {schema}.history_reader r order by r.confirmed limit 1
"""


def check_installed(context: CheckContext) -> Iterator[Problem]:
    """The queue and the library should have the same version."""
    if not context.is_installed:
        yield Problem(
            "installed",
            "broken",
            f"Schema {context.schema} has no queue.",
            f"lonnymq install{context.schema_option}",
        )
        return
    ours = version("lonnymq")
    code = "\n".join(sql_files("functions").values())
    newest = max(int(name.split("_")[0]) for name in sql_files("migrations"))
    found = context.rows(VERSION, rank(ours), newest, sha256(code.encode()).hexdigest())
    for theirs, is_newer, is_same in found:
        if is_newer:
            yield Problem(
                "installed",
                "warning",
                f"The queue was installed by version {theirs}, which is newer than this library, version {ours}.",
                "pip install --upgrade lonnymq",
            )
        elif not is_same:
            yield Problem(
                "installed",
                "warning",
                f"The queue was installed by version {theirs}. The functions differ from this library, version {ours}.",
                f"lonnymq install{context.schema_option}",
            )


def check_privileges(context: CheckContext) -> Iterator[Problem]:
    """Functions that everybody may call, unsafe functions, and tables that somebody granted."""
    if found := [name for (name,) in context.rows(PUBLIC_FUNCTIONS)]:
        yield Problem(
            "privileges",
            "warning",
            f"Everybody may call {found[0]}{format_others(found)}. An install revokes the right from PUBLIC.",
            f"lonnymq install{context.schema_option}",
        )
    if found := [name for (name,) in context.rows(UNSAFE_FUNCTIONS)]:
        yield Problem(
            "privileges",
            "broken",
            f"{found[0]}{format_others(found)} runs with the rights of the owner and the search_path of the caller. "
            "The caller can run any code with the rights of the owner.",
            f"lonnymq install{context.schema_option}",
        )
    if found := [name for (name,) in context.rows(GRANTED_TABLES)]:
        yield Problem(
            "privileges",
            "note",
            f"Somebody granted tables: {found[0]}{format_others(found)}. The roles of the queue need no such grants.",
        )
    if context.value(HAS_PRODUCERS) and (
        found := [name for (name,) in context.rows(MISSING_ROLES)]
    ):
        yield Problem(
            "privileges",
            "note",
            f"The role '{found[0]}'{format_others(found)} is restricted but does not exist. "
            "If somebody renamed the role, the role is not restricted any more.",
            f"lonnymq role list{context.schema_option}",
        )


def check_stopped_consumers(context: CheckContext) -> Iterator[Problem]:
    """A sweep ends a consumer that hangs during a dequeue, if the owner of the queue has the right."""
    for owner, logins in context.rows(UNREACHABLE_CONSUMERS):
        yield Problem(
            "stopped consumers",
            "note",
            f"If {logins[0]}{format_others(logins)} hangs during a dequeue, a sweep cannot end the session. "
            "All other consumers wait until the network connection times out.",
            f'grant pg_signal_backend, pg_read_all_stats to "{owner}";',
        )


def format_others(found: list[str]) -> str:
    """The number of names after the first name."""
    return f" and {len(found) - 1} more" if len(found) > 1 else ""


def check_invariants(context: CheckContext) -> Iterator[Problem]:
    """Invariants that `queue_check` finds broken."""
    found = context.queue.check()
    for invariant, many in Counter(each.invariant for each in found).items():
        first = next(each for each in found if each.invariant == invariant)
        where = f" in channel '{first.channel}'" if first.channel is not None else ""
        yield Problem(
            "invariants",
            "broken",
            f"The invariant {invariant} is broken {many} {'time' if many == 1 else 'times'}, "
            f"first{where}: {first.detail}.",
            REPAIR,
        )


def check_sweeps(context: CheckContext) -> Iterator[Problem]:
    """Sweeps create and drop the partitions of history. Workers sweep automatically."""
    [(is_created, has_history)] = context.rows(EXPECTED_DAY)
    if has_history and not is_created:
        yield Problem(
            "sweeps",
            "warning",
            "History has no partition for the day in one week, so nobody sweeps the queue. "
            "Run a worker, or sweep every minute.",
            REPAIR,
        )
    [(old, first)] = context.rows(OLD_DAYS, DAY_MS)
    if old:
        readers = context.rows(SLOW_READER)
        reader = f" The reader '{readers[0][0]}' has not confirmed these days." if readers else ""
        yield Problem(
            "sweeps",
            "warning",
            f"{old} {'day' if old == 1 else 'days'} of history should be deleted already, from {first} on. "
            f"Nobody sweeps the queue, or a reader is behind.{reader}",
            REPAIR,
        )


def check_workers(context: CheckContext) -> Iterator[Problem]:
    """Messages that are due need a worker."""
    seen = context.queue.worker_list(limit=1_000)
    active = context.queue.channel_active(limit=100, count=100)
    lost = [each for each in seen if not each.alive]
    if lost:
        yield Problem(
            "workers",
            "note",
            f"{len(lost)} {'worker' if len(lost) == 1 else 'workers'} stopped without signing off, most recently "
            f"'{max(lost, key=lambda each: each.seen_at).name}'. "
            "Other workers get the messages when the leases end.",
        )
    late = [
        each
        for each in active
        if each.state == "ready"
        and each.waiting_since is not None
        and each.now_at - each.waiting_since > context.stuck_after_ms
    ]
    works = any(each.alive for each in seen) or any(each.leased or each.finished for each in active)
    if late and not works:
        first = max(late, key=lambda each: each.now_at - (each.waiting_since or 0))
        seconds = (first.now_at - (first.waiting_since or 0)) // 1_000
        yield Problem(
            "workers",
            "warning",
            f"No worker is alive and messages are due. Channel '{first.channel}' has waited for {seconds} s.",
            "lonnymq worker module:object",
        )


def check_schedules(context: CheckContext) -> Iterator[Problem]:
    """Overdue schedules need a worker."""
    late = [
        each
        for each in context.queue.schedule_list(limit=1_000)
        if not each.paused
        and each.next_at is not None
        and each.now_at - each.next_at > context.stuck_after_ms
    ]
    if late:
        first = min(late, key=lambda each: each.next_at or 0)
        seconds = (first.now_at - (first.next_at or 0)) // 1_000
        yield Problem(
            "schedules",
            "warning",
            f"{len(late)} {'schedule is' if len(late) == 1 else 'schedules are'} overdue, "
            f"'{first.name}' by {seconds} s. No worker creates the messages.",
            "lonnymq worker module:object",
        )


def check_dead_messages(context: CheckContext) -> Iterator[Problem]:
    """Dead messages wait until somebody redrives or purges them."""
    dead = len(context.queue.dead_ids(limit=10_000))
    if dead:
        many = f"{dead:,}" if dead < 10_000 else "10,000 or more"
        yield Problem(
            "dead messages",
            "note",
            f"{many} {'message is' if dead == 1 else 'messages are'} dead. Look at the errors, then redrive or purge.",
            "lonnymq dead list",
        )
