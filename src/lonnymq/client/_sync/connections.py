# scripts/make_sync.py writes this file from _async/connections.py: do not edit it.
"""Where a Queue's calls run: connections of its own, a pool's, or the one that the caller gave."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol, TypeVar

from psycopg import Connection, Cursor

from lonnymq.client._sync.pool import DsnSource, ReusableConnection, execute
from lonnymq.client.bulk import Bulk
from lonnymq.client.call import Call
from lonnymq.client.connection_state import (
    ISOLATION,
    MAX_CONNECTIONS,
    TIMEOUT_SECONDS,
    needs_transaction,
    reject_open_transaction,
)
from lonnymq.errors import (
    UnknownConnection,
    WrongIsolation,
    translated,
)

Answer = TypeVar("Answer")

ACCEPTED = "a DSN, a psycopg Connection, or a pool of them such as psycopg_pool.ConnectionPool"


class Source(Protocol):
    """Lends connections; knows whether calls may be prepared on them (None: each connection does) and isolated."""

    prepare: bool | None
    isolate: bool

    def connection(self) -> AbstractContextManager[Connection[Any]]:
        """Lend a connection for one call."""

    def trim(self) -> None:
        """Close what was opened here and not needed for a while."""

    def close(self) -> None:
        """Close what was opened here."""


class ConnectionSource:
    """The caller's own connection, one call at a time; its open transaction is used and never ended."""

    def __init__(self, connection: Connection[Any]) -> None:
        self.prepare: bool | None = False
        self.isolate = False
        self.given = connection
        self.lock = threading.RLock()

    @contextmanager
    def connection(self) -> Iterator[Connection[Any]]:
        """Lend the connection."""
        with self.lock:
            yield self.given

    def trim(self) -> None:
        """Close nothing."""

    def close(self) -> None:
        """Close nothing: the connection is the caller's."""


class PoolSource:
    """A pool, which lends one of its connections for each call."""

    def __init__(self, pool: Any) -> None:
        self.prepare: bool | None = False
        self.isolate = False
        self.pool = pool

    def connection(self) -> AbstractContextManager[Connection[Any]]:
        """Lend one of the pool's."""
        lent: AbstractContextManager[Connection[Any]] = self.pool.connection()
        return lent

    def trim(self) -> None:
        """Close nothing."""

    def close(self) -> None:
        """Close nothing: the pool is the caller's."""


def source_of(
    given: object,
    *,
    max_connections: int = MAX_CONNECTIONS,
    timeout: float | None = TIMEOUT_SECONDS,
) -> Source:
    """The source that a Queue was given."""
    if isinstance(given, str):
        return DsnSource(given, max_connections=max_connections, timeout=timeout)
    if isinstance(given, Connection):
        return ConnectionSource(given)
    if callable(getattr(given, "connection", None)):
        return PoolSource(given)
    raise UnknownConnection(f"a Queue needs {ACCEPTED}, not {type(given).__name__}")


def run(source: Source, call: Call[Answer]) -> Answer:
    """Run a call on one of the source's connections."""
    if isinstance(source, DsnSource):
        return source.run(call)
    with source.connection() as connection:
        return run_on(connection, call, prepare=source.prepare)


def run_dequeue(source: Source, call: Call[Answer], *, timeout: float | None = None) -> Answer:
    """Run a dequeue, which needs a READ COMMITTED transaction of its own."""
    if isinstance(source, DsnSource) and not source.isolate:
        try:
            return source.run(call, timeout=timeout)
        except WrongIsolation:
            source.isolate = True
    with source.connection() as connection:
        reject_open_transaction(connection)
        if not source.isolate:
            try:
                return run_on(connection, call, prepare=source.prepare)
            except WrongIsolation:
                source.isolate = True
        with translated(), connection.transaction():
            connection.execute(ISOLATION, prepare=False)
            return execute(connection, call, prepare=source.prepare)


def run_on(connection: Connection[Any], call: Call[Answer], *, prepare: bool | None) -> Answer:
    """Run a call in the connection's open transaction, else in one of the call's own."""
    with translated():
        if needs_transaction(connection):
            with connection.transaction():
                return execute(connection, call, prepare=prepare)
        return execute(connection, call, prepare=prepare)


def remove_limit(connection: Connection[Any]) -> None:
    """Let statements take as long as they need, until the connection is given back."""
    if isinstance(connection, ReusableConnection):
        connection.limit = None


def copy_messages(source: Source, bulk: Bulk) -> int:
    """Copy messages in and announce them, in one transaction."""
    with source.connection() as connection:
        remove_limit(connection)
        with translated(), connection.transaction():
            now = execute(connection, bulk.clock(), prepare=False)
            with Cursor(connection).copy(bulk.statement.encode()) as copy:
                copy.set_types(bulk.types)
                for row in bulk.rows(now):
                    copy.write_row(row)
            execute(connection, bulk.announcement(), prepare=False)
    return bulk.count
