"""The table of all checks, and the functions that run the checks and repair the queue."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from psycopg import Connection, Error, connect
from psycopg.errors import InsufficientPrivilege, UndefinedColumn, UndefinedFunction, UndefinedTable

from lonnymq.client.arguments import milliseconds
from lonnymq.client.connection_state import cut
from lonnymq.client.dsn import complete_dsn
from lonnymq.doctor import queue_checks, schema_checks, server_checks, table_checks
from lonnymq.doctor.base import CheckContext, Level, Problem, Report
from lonnymq.doctor.schema_checks import advance_sequences
from lonnymq.errors import LonnyMQError, NotInstalled
from lonnymq.results import MaintenanceResult, Repair

MAX_REPAIRS = 5
CHECK_SECONDS = 30.0
MISSING = (NotInstalled, UndefinedTable, UndefinedFunction, UndefinedColumn)


@dataclass(frozen=True, slots=True)
class Check:
    """One check, whether it needs an installed queue, and whether it reads every message."""

    name: str
    find: Callable[[CheckContext], Iterator[Problem]]
    needs_queue: bool = True
    reads_all: bool = False


CHECKS = (
    Check("server version", server_checks.check_server_version, needs_queue=False),
    Check("standby", server_checks.check_standby, needs_queue=False),
    Check("read-only", server_checks.check_read_only, needs_queue=False),
    Check("timeouts", server_checks.check_timeouts, needs_queue=False),
    Check("pooler", server_checks.check_pooler, needs_queue=False),
    Check("durability", server_checks.check_durability, needs_queue=False),
    Check("clock", server_checks.check_clock, needs_queue=False),
    Check("notifications", server_checks.check_notifications, needs_queue=False),
    Check("visibility", server_checks.check_visibility, needs_queue=False),
    Check("connections", server_checks.check_connections, needs_queue=False),
    Check("held snapshot", server_checks.check_held_snapshot, needs_queue=False),
    Check("idle in transaction", server_checks.check_idle_in_transaction, needs_queue=False),
    Check("prepared transactions", server_checks.check_prepared_transactions, needs_queue=False),
    Check("replication slots", server_checks.check_replication_slots, needs_queue=False),
    Check("installed", schema_checks.check_installed, needs_queue=False),
    Check("tables", schema_checks.check_tables),
    Check("functions", schema_checks.check_functions),
    Check("indexes", schema_checks.check_indexes),
    Check("queue settings", schema_checks.check_queue_settings),
    Check("sequence positions", schema_checks.check_sequence_positions),
    Check("missing rights", schema_checks.check_missing_rights),
    Check("function owner", schema_checks.check_function_owner),
    Check("privileges", schema_checks.check_privileges),
    Check("stopped consumers", schema_checks.check_stopped_consumers),
    Check("queue clock", server_checks.check_queue_clock),
    Check("clock step", server_checks.check_clock_step),
    Check("autovacuum", table_checks.check_autovacuum),
    Check("dead rows", table_checks.check_dead_rows),
    Check("bloat", table_checks.check_bloat),
    Check("sequences", table_checks.check_sequences),
    Check("transaction id age", table_checks.check_xid_age),
    Check("changes", queue_checks.check_changes),
    Check("maintenance", queue_checks.check_maintenance),
    Check("workers", queue_checks.check_workers),
    Check("worker versions", queue_checks.check_worker_versions),
    Check("kinds", queue_checks.check_kinds),
    Check("schedules", queue_checks.check_schedules),
    Check("dead messages", queue_checks.check_dead_messages),
    Check("invariants", queue_checks.check_invariants, reads_all=True),
)


NO_TIMEOUTS = """
select set_config(s.name, '0', false) from pg_settings s where s.name in ('statement_timeout', 'transaction_timeout')
"""


def run_checks(
    source: Connection[Any] | str,
    *,
    schema: str = "lonnymq",
    stuck_after: timedelta | int = 300_000,
    quick: bool = False,
    clock: Callable[[], float] = time.time,
    progress: Callable[[str], None] = lambda _: None,
) -> Report:
    """Run all checks, or with `quick` the checks that do not read every message. Nothing changes.

    `stuck_after` is how long something may not move before a check reports it.
    """
    checked, problems = [], []
    with ExitStack() as stack:
        is_ours = isinstance(source, str)
        if isinstance(source, str):
            source = stack.enter_context(open_connection(source))
        stuck_after_ms = milliseconds("stuck_after", stuck_after)
        context = CheckContext(source, schema, stuck_after_ms, clock)
        for check in CHECKS:
            if (quick and check.reads_all) or (check.needs_queue and not context.is_installed):
                continue
            progress(check.name)
            checked.append(check.name)
            problems += run_check(check, context)
            if is_ours and check.name == "timeouts":
                source.execute(NO_TIMEOUTS)  # a short timeout is found, and ends no other check
    return Report(tuple(checked), tuple(problems))


def open_connection(dsn: str) -> Connection[Any]:
    """Connect to a server of any kind: a standby is a finding."""
    complete = complete_dsn(dsn, target_session_attrs="any")
    return connect(complete, autocommit=True, prepare_threshold=None)


def run_check(check: Check, context: CheckContext) -> list[Problem]:
    """Run one check. A check that the server rejects becomes a problem, and the other checks go on.

    If the server or the network goes silent, the connection is cut, and the check fails. Only a check that reads every
    message may take long.
    """
    timer = threading.Timer(CHECK_SECONDS, cut, [context.connection])
    timer.daemon = True
    if not check.reads_all:
        timer.start()
    try:
        return list(check.find(context))
    except (LonnyMQError, Error) as error:
        if context.connection.closed or not is_server_error(error):
            raise
        reason = str(error).splitlines()[0]
        level: Level = "warning" if isinstance(error, MISSING) else "note"
        return [Problem(check.name, level, f"The check could not run: {reason}")]
    finally:
        timer.cancel()


def is_server_error(error: Exception) -> bool:
    """Whether the server rejected a check, rather than the check being wrong."""
    return isinstance(error, LonnyMQError) or getattr(error, "sqlstate", None) is not None


def repair(
    source: Connection[Any] | str, *, schema: str = "lonnymq"
) -> tuple[tuple[Repair, ...], MaintenanceResult]:
    """Repair sequences and broken invariants, and run maintenance."""
    if isinstance(source, str):
        with open_connection(source) as connection:
            return repair(connection, schema=schema)
    context = CheckContext(source, schema)
    queue = context.queue
    repairs: list[Repair] = []
    with suppress(
        InsufficientPrivilege
    ):  # an admin may call the functions, and may not read the tables
        repairs += advance_sequences(context)
    for _ in range(MAX_REPAIRS):  # one repair may reveal another
        found = queue.repair()
        repairs += found
        if not found:
            break
    return tuple(repairs), queue.maintain()
