"""The table of checks, and the examination that goes through it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from psycopg import Connection, Error, connect

from lonnymq.client.arguments import milliseconds
from lonnymq.doctor import health, sessions, settings, tables
from lonnymq.doctor.finding import Finding, Report
from lonnymq.doctor.installed import installed
from lonnymq.doctor.patient import Patient
from lonnymq.doctor.privileges import privileges, stopped_consumers
from lonnymq.errors import LonnyMQError
from lonnymq.results import Repair, Swept

REPAIRS = 5
Examined = Callable[[Patient], Iterator[Finding]]


@dataclass(frozen=True, slots=True)
class Check:
    """One check: what is done, whether it needs an installed queue, and whether it reads every message."""

    name: str
    make: Examined
    of_queue: bool = True
    reads_all: bool = False


CHECKS = (
    Check("server version", settings.server_version, of_queue=False),
    Check("standby", settings.standby, of_queue=False),
    Check("pooler", settings.pooler, of_queue=False),
    Check("durability", settings.durability, of_queue=False),
    Check("clock", settings.clock, of_queue=False),
    Check("notifications", settings.notifications, of_queue=False),
    Check("sight", sessions.sight, of_queue=False),
    Check("connections", sessions.connections, of_queue=False),
    Check("held snapshot", sessions.held_snapshot, of_queue=False),
    Check("idle in transaction", sessions.idle_in_transaction, of_queue=False),
    Check("prepared transactions", sessions.prepared_transactions, of_queue=False),
    Check("replication slots", sessions.replication_slots, of_queue=False),
    Check("installed", installed, of_queue=False),
    Check("privileges", privileges),
    Check("stopped consumers", stopped_consumers),
    Check("queue clock", settings.queue_clock),
    Check("clock step", settings.clock_step),
    Check("autovacuum", tables.autovacuum),
    Check("dead rows", tables.dead_rows),
    Check("bloat", tables.bloat),
    Check("sequences", tables.sequences),
    Check("indexes", tables.indexes),
    Check("sweeps", health.sweeps),
    Check("workers", health.workers),
    Check("schedules", health.schedules),
    Check("dead messages", health.dead_messages),
    Check("invariants", health.invariants, reads_all=True),
)


def examine(
    source: Connection[Any] | str,
    *,
    schema: str = "lonnymq",
    patience: timedelta | int = 300_000,
    quick: bool = False,
    clock: Callable[[], float] = time.time,
    progress: Callable[[str], None] = lambda _: None,
) -> Report:
    """Make all checks, or with `quick` those that do not read every message; changes nothing."""
    if isinstance(source, str):
        with connect(source, autocommit=True, prepare_threshold=None) as connection:
            return examine(
                connection, schema=schema, patience=patience, quick=quick, clock=clock, progress=progress
            )  # fmt: skip
    patient = Patient(source, schema, milliseconds("patience", patience), clock)
    made, findings = [], []
    for check in CHECKS:
        if (quick and check.reads_all) or (check.of_queue and not patient.is_installed):
            continue
        progress(check.name)
        made.append(check.name)
        findings += made_of(check, patient)
    return Report(tuple(made), tuple(findings))


def made_of(check: Check, patient: Patient) -> list[Finding]:
    """What a check finds; one that is not allowed to look says so, and the others go on."""
    try:
        return list(check.make(patient))
    except (LonnyMQError, Error) as error:
        if patient.connection.closed or not is_of_server(error):
            raise
        said = str(error).splitlines()[0]
        return [Finding(check.name, "note", f"This could not be looked at: {said}")]


def is_of_server(error: Exception) -> bool:
    """Whether the server has refused, rather than a check been wrong."""
    return isinstance(error, LonnyMQError) or getattr(error, "sqlstate", None) is not None


def mend(
    source: Connection[Any] | str, *, schema: str = "lonnymq"
) -> tuple[tuple[Repair, ...], Swept]:
    """Mend what the queue can mend by itself: broken invariants, and what a sweep does."""
    if isinstance(source, str):
        with connect(source, autocommit=True, prepare_threshold=None) as connection:
            return mend(connection, schema=schema)
    queue = Patient(source, schema).queue
    repairs: list[Repair] = []
    for _ in range(REPAIRS):  # to mend one thing may bring another to light
        found = queue.repair()
        repairs += found
        if not found:
            break
    return tuple(repairs), queue.sweep()
