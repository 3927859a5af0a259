"""A database for schedules: the queue with a clock that the schedule sets, and connections that are used again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

from lonnymq import install
from lonnymq.embedded_postgres import temporary
from lonnymq.testing import run, with_database

START = 1_700_000_000_000
SESSIONS = ("s1", "s2", "s3", "s4", "s5")
SETTINGS: dict[str, Any] = {
    "max_connections": 60,
    "deadlock_timeout": "50ms",
    "autovacuum_naptime": "15s",
}
# A sequence, because its value has no snapshot: the clock goes on for a transaction of any isolation level.
CLOCK = f"""
create sequence public.schedule_clock minvalue -9000000000000000 start {START};
create or replace function lonnymq.epoch(p_at timestamptz default clock_timestamp())
returns bigint language sql volatile as 'select last_value from public.schedule_clock';
create schema fresh;
"""
TABLES = """
select c.relname from pg_class c
where c.relnamespace = 'lonnymq'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
  and c.relname not in ('migration', 'installed')
order by 1
"""
SEQUENCES = """
select format('select setval(%L, %s, %L);', format('lonnymq.%I', s.sequencename),
  coalesce(s.last_value, s.start_value), s.last_value is not null)
from pg_sequences s where s.schemaname = 'lonnymq'
"""
VACUUM_EVERY = 100


class Stage:
    """One database, and the connections of up to five sessions and of the scheduler itself (`control`)."""

    def __init__(self, dsn: str) -> None:
        self.dsn = dsn
        self.sessions: dict[str, psycopg.Connection[Any]] = {}
        self.resets = 0
        self.connect()

    def connect(self) -> None:
        """Open the connections, after those of a server that is gone were closed."""
        self.close()
        self.control = psycopg.connect(self.dsn, autocommit=True)
        self.control.execute("listen lonnymq")
        for name in SESSIONS:
            # Nothing is prepared: psycopg drops what is prepared after a rollback to a savepoint, and that statement
            # would take the snapshot of a transaction that has none yet.
            connection = psycopg.connect(self.dsn, autocommit=True, prepare_threshold=None)
            connection.execute("set lock_timeout = '1500ms'")
            connection.execute("set statement_timeout = '30s'")
            self.sessions[name] = connection

    def close(self) -> None:
        """Close all connections."""
        for connection in (*self.sessions.values(), *([self.control] if self.sessions else [])):
            connection.close()
        self.sessions.clear()

    def prepare(self) -> None:
        """Take over the clock of a queue that was just installed, and remember what is in its tables."""
        self.control.execute(CLOCK.encode())
        # The days of this clock: what finishes on a day without a partition may wait for a sweep that is open.
        while self.column(f"select lonnymq.history_extend({START}, 15)") != [0]:
            pass
        for table in self.column(TABLES):
            if self.column(f"select exists (select from lonnymq.{table})")[0]:
                self.control.execute(
                    f"create table fresh.{table} as table lonnymq.{table}".encode()
                )

    def column(self, query: str, *values: object) -> list[Any]:
        """The first column of a query's rows."""
        return [row[0] for row in self.control.execute(query.encode(), values or None).fetchall()]

    def reset(self) -> None:
        """Bring every table and sequence to where it was after the install."""
        if self.resets == 0:
            self.reset_script = self.make_reset_script().encode()
        for connection in self.sessions.values():
            if connection.info.transaction_status:
                connection.execute("rollback")
        self.control.execute(self.reset_script)
        self.resets += 1
        if self.resets % VACUUM_EVERY == 0:
            self.control.execute("vacuum")

    def make_reset_script(self) -> str:
        """Deletes, not truncates: a truncate makes new files for each table and index, 40 times the cost."""
        tables = self.column(TABLES)
        filled = self.column("select tablename from pg_tables where schemaname = 'fresh'")
        sequences = self.column(SEQUENCES)
        return "\n".join([
            *(f"delete from lonnymq.{table};" for table in tables),
            *(f"insert into lonnymq.{table} overriding system value table fresh.{table};" for table in filled),
            *sequences,
            "select lonnymq.queue_stamp();",  # the row is this cluster's own, not a restored one
            f"select setval('public.schedule_clock', {START});",
        ])  # fmt: skip

    def hears(self, seconds: float) -> bool:
        """Whether consumers were notified since this was last asked; waits so long for it."""
        return bool(list(self.control.notifies(timeout=seconds, stop_after=1 if seconds else None)))

    def set_clock(self, now: int) -> None:
        """Set the queue's clock."""
        self.control.execute("select setval('public.schedule_clock', %s)", (now,))


@contextmanager
def temporary_stage(
    bin_dir: str | None = None, change: Callable[[psycopg.Connection[Any]], None] | None = None
) -> Iterator[Stage]:
    """A server of its own with a stage on it; `change` may put other functions into the queue."""
    with temporary(bin_dir, **SETTINGS) as server, stage_on(server.dsn, change) as stage:
        yield stage


@contextmanager
def stage_on(
    dsn: str,
    change: Callable[[psycopg.Connection[Any]], None] | None = None,
    name: str = "schedules",
) -> Iterator[Stage]:
    """A stage in a new database of a server."""
    run(dsn, f"create database {name}")
    install(with_database(dsn, name))
    stage = Stage(with_database(dsn, name))
    try:
        if change:
            change(stage.control)
        stage.prepare()
        yield stage
    finally:
        stage.close()
        run(dsn, f"drop database {name} with (force)")
