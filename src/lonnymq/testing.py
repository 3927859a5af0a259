"""The pytest plugin: a queue on a server for tests, and a clock that tests set, so that no test sleeps."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from uuid import uuid4

import pytest

if TYPE_CHECKING:
    from lonnymq.client import Queue
    from lonnymq.embedded_postgres import Server

STOP_THE_CLOCK = """
create table lonnymq.test_clock (now_at bigint not null);
insert into lonnymq.test_clock select lonnymq.epoch();
do $$
begin
  execute format(
    'create or replace function lonnymq.epoch(%s) returns bigint language sql volatile as %L',
    pg_get_function_arguments('lonnymq.epoch'::regproc), 'select now_at from lonnymq.test_clock');
end
$$;
"""

MOVE_THE_CLOCK = """
with moved as (update lonnymq.test_clock set now_at = %s returning pg_notify('lonnymq', 'clock'))
select count(*) from moved
"""


class Clock:
    """The clock of the queue, which stands still until the test moves the clock."""

    def __init__(self, dsn: str) -> None:
        from psycopg import connect

        self.connection = connect(dsn, autocommit=True)
        self.connection.execute(STOP_THE_CLOCK)

    def now(self) -> int:
        """Return the time in epoch milliseconds."""
        row = self.connection.execute("select now_at from lonnymq.test_clock").fetchone()
        return int(row[0]) if row else 0

    def set(self, moment: int | datetime) -> int:
        """Set the time, as epoch milliseconds or as a datetime with a time zone, and return the time.

        A running worker looks at once for messages and schedules that are due now.
        """
        from lonnymq.client.arguments import moment as checked

        self.connection.execute(MOVE_THE_CLOCK, (checked("moment", moment),))
        return self.now()

    def advance(self, by: int | timedelta) -> int:
        """Move the clock, by milliseconds or by a timedelta, and return the new time."""
        from lonnymq.client.arguments import milliseconds

        return self.set(self.now() + milliseconds("by", by))

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()


@pytest.fixture(scope="session")
def lonnymq_server() -> Iterator[Server]:
    """The server of LONNYMQ_DSN, else a private PostgreSQL server from the first test that needs the server on."""
    from lonnymq.embedded_postgres import Server, temporary
    from lonnymq.embedded_postgres.server import DSN_VARIABLE

    named = os.environ.get(DSN_VARIABLE)
    with Server(named) if named else temporary() as server:
        yield server


@pytest.fixture(scope="session")
def lonnymq_template(lonnymq_server: Server) -> Iterator[str]:
    """The name of a database with an empty queue, which each test gets a copy of."""
    from lonnymq.client import install

    with database(lonnymq_server.dsn, f"lonnymq_template_{uuid4().hex}") as dsn:
        install(dsn)
        yield database_of(dsn)


@pytest.fixture
def lonnymq_dsn(lonnymq_server: Server, lonnymq_template: str) -> Iterator[str]:
    """The DSN of a fresh database with an empty queue, for this test alone."""
    from lonnymq.embedded_postgres import TemporaryServer

    copy = f"template {lonnymq_template}"
    if isinstance(lonnymq_server, TemporaryServer):
        copy += " strategy file_copy"  # the quicker strategy in memory
    with database(lonnymq_server.dsn, f"lonnymq_{uuid4().hex}", copy) as dsn:
        yield dsn


@pytest.fixture
def lonnymq_queue(lonnymq_dsn: str) -> Iterator[Queue]:
    """An empty queue for this test alone."""
    from lonnymq.client import Queue

    with Queue(lonnymq_dsn) as queue:
        yield queue


@pytest.fixture
def lonnymq_clock(lonnymq_dsn: str) -> Iterator[Clock]:
    """The clock of `lonnymq_queue`, which stands still until the test moves the clock."""
    clock = Clock(lonnymq_dsn)
    yield clock
    clock.close()


def run(dsn: str, statement: str) -> None:
    """Execute a statement outside of a transaction."""
    from psycopg import connect

    with connect(dsn, autocommit=True) as connection:
        connection.execute(statement.encode())


@contextmanager
def database(dsn: str, name: str, copy: str = "") -> Iterator[str]:
    """Create a database, yield its DSN, and drop the database with all of its connections."""
    run(dsn, f"create database {name} {copy}")
    try:
        yield with_database(dsn, name)
    finally:
        run(dsn, f"drop database {name} with (force)")


def with_database(dsn: str, name: str) -> str:
    """Return the DSN of another database of the same server."""
    if "://" in dsn:
        return urlsplit(dsn)._replace(path=f"/{name}").geturl()
    from psycopg.conninfo import make_conninfo

    return make_conninfo(dsn, dbname=name)


def database_of(dsn: str) -> str:
    """Return the database that a DSN names."""
    from psycopg.conninfo import conninfo_to_dict

    return str(conninfo_to_dict(dsn)["dbname"])
