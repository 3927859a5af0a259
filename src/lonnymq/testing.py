"""The pytest plugin: a queue on a private server, and a clock that tests set, so that no test sleeps."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from uuid import uuid4

import pytest

if TYPE_CHECKING:
    from lonnymq.client import Queue
    from lonnymq.embedded_postgres import TemporaryServer

TEMPLATE = "lonnymq_template"
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
        """Set the time, as epoch milliseconds or as a datetime with a time zone, and return the time."""
        from lonnymq.client.arguments import moment as checked

        self.connection.execute(
            "update lonnymq.test_clock set now_at = %s", (checked("moment", moment),)
        )
        return self.now()

    def advance(self, by: int | timedelta) -> int:
        """Move the clock, by milliseconds or by a timedelta, and return the new time."""
        from lonnymq.client.arguments import milliseconds

        return self.set(self.now() + milliseconds("by", by))

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()


@pytest.fixture(scope="session")
def lonnymq_server() -> Iterator[TemporaryServer]:
    """A private PostgreSQL server, from the first test that needs the server to the end of the session."""
    from lonnymq.client import install
    from lonnymq.embedded_postgres import temporary

    with temporary() as server:
        run(server.dsn, f"create database {TEMPLATE}")
        install(with_database(server.dsn, TEMPLATE))
        yield server


@pytest.fixture
def lonnymq_dsn(lonnymq_server: TemporaryServer) -> Iterator[str]:
    """The DSN of a fresh database with an empty queue, for this test alone."""
    name = f"lonnymq_{uuid4().hex}"
    run(lonnymq_server.dsn, f"create database {name} template {TEMPLATE} strategy file_copy")
    yield with_database(lonnymq_server.dsn, name)
    run(lonnymq_server.dsn, f"drop database {name} with (force)")


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


def with_database(dsn: str, name: str) -> str:
    """Return the DSN of another database of the same server."""
    return urlsplit(dsn)._replace(path=f"/{name}").geturl()
