# scripts/make_sync.py writes this file from _async/connections.py: do not edit it.
"""Where a Queue's calls run: connections of its own, a pool's, or the one that the caller gave."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol, TypeVar

from psycopg import Connection, Cursor
from psycopg.pq import TransactionStatus
from psycopg.rows import tuple_row

from lonnymq.client.array_dumpers import register
from lonnymq.client.bulk import Bulk
from lonnymq.client.call import Call
from lonnymq.client.connection_state import (
    ISOLATION,
    PREPARE_AT_ONCE,
    close_forgotten,
    encoded_statement,
    is_alive,
    needs_transaction,
    refuse_open_transaction,
)
from lonnymq.errors import UnknownConnection, WrongIsolation, raise_translated, translated

Answer = TypeVar("Answer")

ACCEPTED = "a DSN, a psycopg Connection, or a pool of them such as psycopg_pool.ConnectionPool"

register()


class Source(Protocol):
    """Lends connections; knows whether calls may be prepared on them (None: each connection does) and isolated."""

    prepare: bool | None
    isolate: bool

    def connection(self) -> AbstractContextManager[Connection[Any]]:
        """Lend a connection for one call."""

    def close(self) -> None:
        """Close what was opened here."""


class ReusableConnection(Connection[Any]):
    """A connection that keeps a cursor for each statement: one that runs the same again knows its types already."""

    cursors: dict[str, Cursor[Any]]

    @classmethod
    def open(cls, dsn: str) -> ReusableConnection:
        """Open one."""
        opened = cls.connect(dsn, autocommit=True, prepare_threshold=None, row_factory=tuple_row)
        opened.cursors = {}
        return opened


class DsnSource:
    """Opens connections to a DSN as they are needed and keeps idle ones."""

    def __init__(self, dsn: str) -> None:
        self.dsn = dsn
        self.prepare: bool | None = None
        self.isolate = False
        self.process = os.getpid()
        self.idle: list[ReusableConnection] = []
        weakref.finalize(self, close_forgotten, self.idle, self.process)

    @contextmanager
    def connection(self) -> Iterator[ReusableConnection]:
        """Lend an idle connection or a new one; take it back unless it broke."""
        connection = self.take() or self.open()
        try:
            yield connection
        finally:
            self.give_back(connection)

    def run(self, call: Call[Answer]) -> Answer:
        """Run a call on an idle connection or a new one, with nothing around it that a single call would feel."""
        connection = self.take() or self.open()
        try:
            return execute(connection, call, prepare=self.prepare)
        except Exception as error:
            raise_translated(error)
        finally:
            self.give_back(connection)

    def take(self) -> ReusableConnection | None:
        """An idle connection that the server has not closed meanwhile; none that a fork inherited."""
        if self.process != os.getpid():
            self.process = os.getpid()
            self.idle.clear()
        while self.idle:
            connection = self.idle.pop()
            if is_alive(connection):
                return connection
            connection.close()
        return None

    def give_back(self, connection: ReusableConnection) -> None:
        """Keep it for the next call, unless it broke."""
        if connection.pgconn.transaction_status == TransactionStatus.IDLE:
            self.idle.append(connection)
        else:
            connection.close()

    def open(self) -> ReusableConnection:
        """Open a connection; behind a pooler, whose process ids are its own, nothing is prepared on it."""
        connection = ReusableConnection.open(self.dsn)
        row = (connection.execute("select pg_backend_pid()")).fetchone()
        if row == (connection.info.backend_pid,):
            connection.prepare_threshold = PREPARE_AT_ONCE
        return connection

    def close(self) -> None:
        """Close the idle connections; the Queue stays usable and would open new ones."""
        while self.idle:
            self.idle.pop().close()


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

    def close(self) -> None:
        """Close nothing: the pool is the caller's."""


def source_of(given: object) -> Source:
    """The source that a Queue was given."""
    if isinstance(given, str):
        return DsnSource(given)
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


def run_dequeue(source: Source, call: Call[Answer]) -> Answer:
    """Run a dequeue, which needs a READ COMMITTED transaction of its own."""
    if isinstance(source, DsnSource) and not source.isolate:
        try:
            return source.run(call)
        except WrongIsolation:
            source.isolate = True
    with source.connection() as connection:
        refuse_open_transaction(connection)
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


def execute(connection: Connection[Any], call: Call[Answer], *, prepare: bool | None) -> Answer:
    """Run a call on a connection as it stands, whatever rows and cursors it makes by itself."""
    cursor = cursor_for(connection, call.sql)
    cursor.execute(encoded_statement(call.sql), call.parameters, prepare=prepare, binary=True)
    rows = cursor.fetchall()
    if cursor.pgresult is not None:
        cursor.pgresult.clear()  # a cursor that is kept must not keep what it read
    return call.parse(rows)


def cursor_for(connection: Connection[Any], sql: str) -> Cursor[Any]:
    """The cursor that this connection keeps for the statement, or a new one on somebody else's connection."""
    if not isinstance(connection, ReusableConnection):
        return Cursor(connection, row_factory=tuple_row)
    cursor = connection.cursors.get(sql)
    if cursor is None:
        cursor = connection.cursors[sql] = Cursor(connection, row_factory=tuple_row)
    return cursor


def copy_messages(source: Source, bulk: Bulk) -> int:
    """Copy messages in and announce them, in one transaction."""
    with source.connection() as connection, translated(), connection.transaction():
        now = execute(connection, bulk.clock(), prepare=False)
        with Cursor(connection).copy(bulk.statement.encode()) as copy:
            copy.set_types(bulk.types)
            for row in bulk.rows(now):
                copy.write_row(row)
        execute(connection, bulk.announcement(), prepare=False)
    return bulk.count
