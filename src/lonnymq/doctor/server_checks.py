"""Checks of the server: version, settings, clock, sessions and connections."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lonnymq.doctor.base import CheckContext, Problem

MIN_SERVER_VERSION = 150_000
MAX_CLOCK_DIFFERENCE_MS = 2_000
MAX_NOTIFICATION_USAGE = 0.5
MIN_TIMEOUT_MS = 1_000
TIMEOUTS = """
select s.name, s.setting::bigint from pg_settings s
where s.name in ('statement_timeout', 'transaction_timeout') and s.setting::bigint between 1 and %s - 1 order by 1
"""

# What is set for other users of the queue, which this session does not see: in milliseconds without a unit.
ROLE_TIMEOUTS = """
select c.parts[1], c.parts[2], quote_ident(r.rolname),
  case when s.setdatabase <> 0 then quote_ident(current_database()) end
from pg_db_role_setting s
join pg_roles r on r.oid = s.setrole and r.rolname <> current_user
  and has_schema_privilege(r.oid, to_regnamespace('{schema}')::oid, 'usage')
cross join lateral (
  select regexp_match(o.option, '^(statement_timeout|transaction_timeout)=(.*)$') as parts
  from unnest(s.setconfig) as o (option)
) c
where c.parts is not null
  and s.setdatabase in (0, (select d.oid from pg_database d where d.datname = current_database()))
order by 3, 1
"""
TIMEOUT = re.compile(r"(\d+(?:\.\d+)?)\s*(us|ms|s|min|h|d)?")
UNITS_MS = {"us": 0.001, "ms": 1, "s": 1_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}

HELD = """
select a.pid, coalesce(a.usename, a.backend_type), coalesce(a.application_name, ''),
  extract(epoch from clock_timestamp() - coalesce(a.xact_start, a.backend_start))::bigint
from pg_stat_activity a
where a.backend_xmin is not null and a.pid <> pg_backend_pid()
  and case a.backend_type
    when 'client backend' then a.datname = current_database()
      and clock_timestamp() - coalesce(a.xact_start, a.backend_start) > %s * interval '1 ms'
    when 'walsender' then age(a.backend_xmin) > 1000000
    else false
  end
order by 4 desc
"""
PREPARED = """
select p.gid, p.owner, extract(epoch from clock_timestamp() - p.prepared)::bigint
from pg_prepared_xacts p
where p.database = current_database() and clock_timestamp() - p.prepared > %s * interval '1 ms'
order by p.prepared
"""
SLOTS = """
select s.slot_name, s.slot_type, s.active, age(coalesce(s.xmin, s.catalog_xmin))
from pg_replication_slots s
where not s.active and (s.xmin is not null or s.catalog_xmin is not null or s.restart_lsn is not null)
order by s.slot_name
"""
IDLE = """
select a.pid, coalesce(a.usename, ''), coalesce(a.application_name, ''),
  extract(epoch from clock_timestamp() - a.state_change)::bigint
from pg_stat_activity a
where a.state in ('idle in transaction', 'idle in transaction (aborted)')
  and a.datname = current_database() and a.pid <> pg_backend_pid()
  and clock_timestamp() - a.state_change > %s * interval '1 ms'
order by 4 desc
"""
CONNECTIONS = """
select count(*) filter (where a.backend_type = 'client backend'),
  current_setting('max_connections')::integer
    - current_setting('superuser_reserved_connections')::integer
from pg_stat_activity a
"""
MAX_CONNECTION_USAGE = 0.85


def check_server_version(context: CheckContext) -> Iterator[Problem]:
    """PostgreSQL 15 and later are supported."""
    if int(context.setting("server_version_num")) < MIN_SERVER_VERSION:
        yield Problem(
            "server version",
            "broken",
            f"PostgreSQL {context.setting('server_version')} is too old: the queue needs PostgreSQL 15 or later.",
            "pg_upgrade --help",
        )


def check_standby(context: CheckContext) -> Iterator[Problem]:
    """A standby accepts no writes."""
    if context.value("select pg_is_in_recovery()"):
        yield Problem(
            "standby",
            "broken",
            "This server is a standby and accepts no writes. Connect to the primary server.",
            "lonnymq doctor --dsn 'host=... target_session_attrs=read-write'",
        )


def check_read_only(context: CheckContext) -> Iterator[Problem]:
    """A default of read-only transactions, as managed servers set when the disk is full."""
    if context.setting("default_transaction_read_only") == "on":
        yield Problem(
            "read-only",
            "broken",
            "default_transaction_read_only is on for this database, user or server: nobody can create or dequeue "
            "messages. A managed server may set this when its disk is full.",
            context.reset_command("default_transaction_read_only"),
        )


def check_timeouts(context: CheckContext) -> Iterator[Problem]:
    """A timeout that ends calls of the queue before they are done."""
    for name, timeout in context.rows(TIMEOUTS, MIN_TIMEOUT_MS):
        yield Problem(
            "timeouts",
            "warning",
            f"{name} is {timeout} ms for this database, user or server. Calls that take longer fail: large batches, "
            f"maintenance, dequeues on a busy server. Allow {MIN_TIMEOUT_MS} ms or more.",
            context.reset_command(name),
        )
    for name, text, role, database in context.rows(ROLE_TIMEOUTS):
        if 0 < read_timeout(text) < MIN_TIMEOUT_MS:
            where = f" in database {database}" if database else ""
            yield Problem(
                "timeouts",
                "warning",
                f"{name} is {text} for user {role}{where}, who may use the queue. Calls that take longer fail. Allow "
                f"{MIN_TIMEOUT_MS} ms or more.",
                f"alter role {role}{where} reset {name};",
            )


def read_timeout(text: str) -> float:
    """A timeout as PostgreSQL stores it, in milliseconds. 0 without a timeout."""
    found = TIMEOUT.fullmatch(text.strip())
    return float(found[1]) * UNITS_MS[found[2] or "ms"] if found else 0


def check_pooler(context: CheckContext) -> Iterator[Problem]:
    """Notifications do not pass through a pooler in transaction mode."""
    if context.value("select pg_backend_pid()") != context.connection.info.backend_pid:
        yield Problem(
            "pooler",
            "note",
            "You are connected through a connection pooler. Workers behind a pooler get no notifications and "
            "poll instead. Give workers the address of the server to get notifications.",
        )


def check_durability(context: CheckContext) -> Iterator[Problem]:
    """Settings with which a crash loses messages."""
    if context.setting("fsync") == "off":
        yield Problem(
            "durability",
            "broken",
            "fsync is off: a crash of the machine may lose messages, or the whole database.",
            "alter system set fsync = on; select pg_reload_conf();",
        )
    if context.setting("full_page_writes") == "off":
        yield Problem(
            "durability",
            "broken",
            "full_page_writes is off: a crash of the machine may damage tables beyond repair.",
            "alter system set full_page_writes = on; select pg_reload_conf();",
        )
    if context.setting("synchronous_commit") == "off":
        yield Problem(
            "durability",
            "warning",
            "synchronous_commit is off for this database, user or server: a crash may lose new messages and repeat "
            "completed messages. (Dequeues set synchronous_commit for themselves.)",
            "alter system set synchronous_commit = on; select pg_reload_conf();",
        )


def check_clock(context: CheckContext) -> Iterator[Problem]:
    """The queue uses the clock of the database. A program with another clock schedules for the wrong time."""
    before = context.clock()
    there = context.value("select extract(epoch from clock_timestamp())::float8")
    here = (before + context.clock()) / 2
    apart = round((float(there) - here) * 1_000)
    if abs(apart) > MAX_CLOCK_DIFFERENCE_MS:
        yield Problem(
            "clock",
            "warning",
            f"The clock of the server is {abs(apart)} ms {'ahead of' if apart > 0 else 'behind'} the clock of this "
            "machine. Times that your programs calculate (dequeue_at) are wrong by as much.",
            "timedatectl set-ntp true",
        )


def check_queue_clock(context: CheckContext) -> Iterator[Problem]:
    """A test may have replaced the clock of the queue and not restored it."""
    apart = context.value(
        "select {schema}.epoch() - (extract(epoch from clock_timestamp()) * 1000)::bigint"
    )
    if abs(int(apart)) > MAX_CLOCK_DIFFERENCE_MS:
        yield Problem(
            "queue clock",
            "broken",
            f"The clock of the queue, {context.schema}.epoch(), differs by {abs(int(apart))} ms from the clock of the "
            "server. Somebody replaced the function, as tests do. Messages are due at the wrong time.",
            f"drop table if exists {context.schema}.test_clock; -- and then: {context.install_command}",
        )


def check_clock_step(context: CheckContext) -> Iterator[Problem]:
    """Times that the queue stored are in the past, unless the clock of the server was set back."""
    ahead = context.value(
        "select greatest(t.folded_at, 0) - {schema}.epoch() "
        "from {schema}.checkpoint t order by t.id desc limit 1"
    )
    if int(ahead or 0) > MAX_CLOCK_DIFFERENCE_MS:
        yield Problem(
            "clock step",
            "warning",
            f"The clock of the server was set back by at least {int(ahead)} ms. Leases end and scheduled messages are "
            "due later by as much.",
            "timedatectl set-ntp true",
        )


def check_notifications(context: CheckContext) -> Iterator[Problem]:
    """When the notification queue of the server is full, creating messages fails."""
    usage = float(context.value("select pg_notification_queue_usage()"))
    if usage >= MAX_NOTIFICATION_USAGE:
        yield Problem(
            "notifications",
            "warning",
            f"The notification queue of the server is {usage:.0%} full: a session listens and stays in a transaction. "
            "When the notification queue is full, creating messages fails.",
            "select pid, state, query from pg_stat_activity where wait_event_type = 'Client' "
            "order by xact_start limit 5; -- end the session that listens in an open transaction",
        )


def check_held_snapshot(context: CheckContext) -> Iterator[Problem]:
    """An old snapshot keeps all rows that were deleted since."""
    for pid, who, program, seconds in context.rows(HELD, context.stuck_after_ms):
        yield Problem(
            "held snapshot",
            "warning",
            f"Process {pid} ({who}{f', {program}' if program else ''}) has held a snapshot for {seconds} s. "
            "PostgreSQL cannot remove rows that were deleted since, and tables grow.",
            f"select pg_terminate_backend({pid});",
        )


def check_prepared_transactions(context: CheckContext) -> Iterator[Problem]:
    """A prepared transaction that nobody ends holds locks and old rows forever."""
    for gid, owner, seconds in context.rows(PREPARED, context.stuck_after_ms):
        yield Problem(
            "prepared transactions",
            "warning",
            f"Transaction '{gid}' of {owner} was prepared {seconds} s ago and not ended. The transaction "
            "holds locks and deleted rows, even after a restart.",
            f"rollback prepared '{gid}';",
        )


def check_replication_slots(context: CheckContext) -> Iterator[Problem]:
    """A replication slot without a reader keeps deleted rows and write-ahead log."""
    for name, kind, _, age in context.rows(SLOTS):
        since = f" for {age} transactions" if age is not None else ""
        yield Problem(
            "replication slots",
            "warning",
            f"The {kind} replication slot '{name}' has had no reader{since}. The slot keeps write-ahead "
            "log and deleted rows until the disk is full.",
            f"select pg_drop_replication_slot('{name}');",
        )


def check_idle_in_transaction(context: CheckContext) -> Iterator[Problem]:
    """A session that is idle in a transaction holds locks."""
    for pid, who, program, seconds in context.rows(IDLE, context.stuck_after_ms):
        yield Problem(
            "idle in transaction",
            "warning",
            f"Process {pid} ({who}{f', {program}' if program else ''}) has been idle in an open transaction for "
            f"{seconds} s. Messages that the process created or completed wait for the commit.",
            f"select pg_terminate_backend({pid});",
        )


def check_connections(context: CheckContext) -> Iterator[Problem]:
    """Workers need free connections."""
    [(used, most)] = context.rows(CONNECTIONS)
    if used >= most * MAX_CONNECTION_USAGE:
        yield Problem(
            "connections",
            "warning",
            f"{used} of {most} connections are in use. Soon nobody else can connect.",
            "alter system set max_connections = ...; -- and restart, or use PgBouncer",
        )


def check_visibility(context: CheckContext) -> Iterator[Problem]:
    """Some checks need the right to see the sessions of other users."""
    if not context.value("select pg_has_role('pg_read_all_stats', 'usage')"):
        user = context.value("select current_user::text")
        yield Problem(
            "visibility",
            "note",
            f"User {user} may not see the sessions of other users. The checks miss held snapshots and idle "
            "transactions of other users.",
            f'grant pg_read_all_stats to "{user}";',
        )
