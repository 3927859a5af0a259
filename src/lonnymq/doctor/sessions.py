"""Who keeps old rows alive, holds transactions open, or takes the last connections."""

from __future__ import annotations

from collections.abc import Iterator

from lonnymq.doctor.finding import Finding
from lonnymq.doctor.patient import Patient

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
NEARLY_ALL = 0.85


def held_snapshot(patient: Patient) -> Iterator[Finding]:
    """A transaction that has been open for long keeps every row alive that was deleted since."""
    for pid, who, program, seconds in patient.rows(HELD, patient.patience_ms):
        yield Finding(
            "held snapshot",
            "warning",
            f"Process {pid} ({who}{f', {program}' if program else ''}) has held a snapshot for {seconds} s: "
            "no row that was deleted since can be removed, and tables grow.",
            f"select pg_terminate_backend({pid});",
        )


def prepared_transactions(patient: Patient) -> Iterator[Finding]:
    """A prepared transaction that nobody ends holds its locks and old rows for ever."""
    for gid, owner, seconds in patient.rows(PREPARED, patient.patience_ms):
        yield Finding(
            "prepared transactions",
            "warning",
            f"Transaction '{gid}' of {owner} was prepared {seconds} s ago and not ended: it holds its locks, "
            "and keeps deleted rows alive, over restarts too.",
            f"rollback prepared '{gid}';",
        )


def replication_slots(patient: Patient) -> Iterator[Finding]:
    """A replication slot that nobody reads keeps deleted rows and write-ahead log."""
    for name, kind, _, age in patient.rows(SLOTS):
        since = f" for {age} transactions" if age is not None else ""
        yield Finding(
            "replication slots",
            "warning",
            f"The {kind} replication slot '{name}' is read by nobody{since}: it keeps write-ahead log, "
            "and deleted rows, until the disk is full.",
            f"select pg_drop_replication_slot('{name}');",
        )


def idle_in_transaction(patient: Patient) -> Iterator[Finding]:
    """A session that has opened a transaction and does nothing holds what it has locked."""
    for pid, who, program, seconds in patient.rows(IDLE, patient.patience_ms):
        yield Finding(
            "idle in transaction",
            "warning",
            f"Process {pid} ({who}{f', {program}' if program else ''}) has been idle in an open transaction for "
            f"{seconds} s: messages that it created or settled wait for its commit.",
            f"select pg_terminate_backend({pid});",
        )


def connections(patient: Patient) -> Iterator[Finding]:
    """Workers that cannot connect cannot work."""
    [(used, most)] = patient.rows(CONNECTIONS)
    if used >= most * NEARLY_ALL:
        yield Finding(
            "connections",
            "warning",
            f"{used} of {most} connections are in use: soon nobody else gets one.",
            "alter system set max_connections = ...; -- and restart; or put PgBouncer in front",
        )


def sight(patient: Patient) -> Iterator[Finding]:
    """Without the right to see others' sessions some checks see nothing."""
    if not patient.value("select pg_has_role('pg_read_all_stats', 'usage')"):
        user = patient.value("select current_user::text")
        yield Finding(
            "sight",
            "note",
            f"User {user} may not see the sessions of others: held snapshots and idle transactions of theirs "
            "go unnoticed here.",
            f'grant pg_read_all_stats to "{user}";',
        )
