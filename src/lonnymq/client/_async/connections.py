"""Where an AsyncQueue's calls run: connections of its own, a pool's, or the one that the caller gave."""

from __future__ import annotations

import asyncio
import os
import weakref
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Protocol, TypeVar

from psycopg import AsyncConnection, AsyncCursor
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

ACCEPTED = (
    "a DSN, a psycopg AsyncConnection, or a pool of them such as psycopg_pool.AsyncConnectionPool"
)

register()


class AsyncSource(Protocol):
    """Lends connections; knows whether calls may be prepared on them (None: each connection does) and isolated."""

    prepare: bool | None
    isolate: bool

    def connection(self) -> AbstractAsyncContextManager[AsyncConnection[Any]]:
        """Lend a connection for one call."""

    async def close(self) -> None:
        """Close what was opened here."""


class AsyncReusableConnection(AsyncConnection[Any]):
    """A connection that keeps a cursor for each statement: one that runs the same again knows its types already."""

    cursors: dict[str, AsyncCursor[Any]]

    @classmethod
    async def open(cls, dsn: str) -> AsyncReusableConnection:
        """Open one."""
        opened = await cls.connect(
            dsn, autocommit=True, prepare_threshold=None, row_factory=tuple_row
        )
        opened.cursors = {}
        return opened


class AsyncDsnSource:
    """Opens connections to a DSN as they are needed and keeps idle ones."""

    def __init__(self, dsn: str) -> None:
        self.dsn = dsn
        self.prepare: bool | None = None
        self.isolate = False
        self.process = os.getpid()
        self.idle: list[AsyncReusableConnection] = []
        weakref.finalize(self, close_forgotten, self.idle, self.process)

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[AsyncReusableConnection]:
        """Lend an idle connection or a new one; take it back unless it broke."""
        connection = await self.take() or await self.open()
        try:
            yield connection
        finally:
            await self.give_back(connection)

    async def run(self, call: Call[Answer]) -> Answer:
        """Run a call on an idle connection or a new one, with nothing around it that a single call would feel."""
        connection = await self.take() or await self.open()
        try:
            return await execute(connection, call, prepare=self.prepare)
        except Exception as error:
            raise_translated(error)
        finally:
            await self.give_back(connection)

    async def take(self) -> AsyncReusableConnection | None:
        """An idle connection that the server has not closed meanwhile; none that a fork inherited."""
        if self.process != os.getpid():
            self.process = os.getpid()
            self.idle.clear()
        while self.idle:
            connection = self.idle.pop()
            if is_alive(connection):
                return connection
            await connection.close()
        return None

    async def give_back(self, connection: AsyncReusableConnection) -> None:
        """Keep it for the next call, unless it broke."""
        if connection.pgconn.transaction_status == TransactionStatus.IDLE:
            self.idle.append(connection)
        else:
            await connection.close()

    async def open(self) -> AsyncReusableConnection:
        """Open a connection; behind a pooler, whose process ids are its own, nothing is prepared on it."""
        connection = await AsyncReusableConnection.open(self.dsn)
        row = await (await connection.execute("select pg_backend_pid()")).fetchone()
        if row == (connection.info.backend_pid,):
            connection.prepare_threshold = PREPARE_AT_ONCE
        return connection

    async def close(self) -> None:
        """Close the idle connections; the AsyncQueue stays usable and would open new ones."""
        while self.idle:
            await self.idle.pop().close()


class AsyncConnectionSource:
    """The caller's own connection, one call at a time; its open transaction is used and never ended."""

    def __init__(self, connection: AsyncConnection[Any]) -> None:
        self.prepare: bool | None = False
        self.isolate = False
        self.given = connection
        self.lock = asyncio.Lock()

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[AsyncConnection[Any]]:
        """Lend the connection."""
        async with self.lock:
            yield self.given

    async def close(self) -> None:
        """Close nothing: the connection is the caller's."""


class AsyncPoolSource:
    """A pool, which lends one of its connections for each call."""

    def __init__(self, pool: Any) -> None:
        self.prepare: bool | None = False
        self.isolate = False
        self.pool = pool

    def connection(self) -> AbstractAsyncContextManager[AsyncConnection[Any]]:
        """Lend one of the pool's."""
        lent: AbstractAsyncContextManager[AsyncConnection[Any]] = self.pool.connection()
        return lent

    async def close(self) -> None:
        """Close nothing: the pool is the caller's."""


def source_of(given: object) -> AsyncSource:
    """The source that an AsyncQueue was given."""
    if isinstance(given, str):
        return AsyncDsnSource(given)
    if isinstance(given, AsyncConnection):
        return AsyncConnectionSource(given)
    if callable(getattr(given, "connection", None)):
        return AsyncPoolSource(given)
    raise UnknownConnection(f"an AsyncQueue needs {ACCEPTED}, not {type(given).__name__}")


async def run(source: AsyncSource, call: Call[Answer]) -> Answer:
    """Run a call on one of the source's connections."""
    if isinstance(source, AsyncDsnSource):
        return await source.run(call)
    async with source.connection() as connection:
        return await run_on(connection, call, prepare=source.prepare)


async def run_dequeue(source: AsyncSource, call: Call[Answer]) -> Answer:
    """Run a dequeue, which needs a READ COMMITTED transaction of its own."""
    if isinstance(source, AsyncDsnSource) and not source.isolate:
        try:
            return await source.run(call)
        except WrongIsolation:
            source.isolate = True
    async with source.connection() as connection:
        refuse_open_transaction(connection)
        if not source.isolate:
            try:
                return await run_on(connection, call, prepare=source.prepare)
            except WrongIsolation:
                source.isolate = True
        with translated():
            async with connection.transaction():
                await connection.execute(ISOLATION, prepare=False)
                return await execute(connection, call, prepare=source.prepare)


async def run_on(
    connection: AsyncConnection[Any], call: Call[Answer], *, prepare: bool | None
) -> Answer:
    """Run a call in the connection's open transaction, else in one of the call's own."""
    with translated():
        if needs_transaction(connection):
            async with connection.transaction():
                return await execute(connection, call, prepare=prepare)
        return await execute(connection, call, prepare=prepare)


async def execute(
    connection: AsyncConnection[Any], call: Call[Answer], *, prepare: bool | None
) -> Answer:
    """Run a call on a connection as it stands, whatever rows and cursors it makes by itself."""
    cursor = cursor_for(connection, call.sql)
    await cursor.execute(encoded_statement(call.sql), call.parameters, prepare=prepare, binary=True)
    rows = await cursor.fetchall()
    if cursor.pgresult is not None:
        cursor.pgresult.clear()  # a cursor that is kept must not keep what it read
    return call.parse(rows)


def cursor_for(connection: AsyncConnection[Any], sql: str) -> AsyncCursor[Any]:
    """The cursor that this connection keeps for the statement, or a new one on somebody else's connection."""
    if not isinstance(connection, AsyncReusableConnection):
        return AsyncCursor(connection, row_factory=tuple_row)
    cursor = connection.cursors.get(sql)
    if cursor is None:
        cursor = connection.cursors[sql] = AsyncCursor(connection, row_factory=tuple_row)
    return cursor


async def copy_messages(source: AsyncSource, bulk: Bulk) -> int:
    """Copy messages in and announce them, in one transaction."""
    async with source.connection() as connection:
        with translated():
            async with connection.transaction():
                now = await execute(connection, bulk.clock(), prepare=False)
                async with AsyncCursor(connection).copy(bulk.statement.encode()) as copy:
                    copy.set_types(bulk.types)
                    for row in bulk.rows(now):
                        await copy.write_row(row)
                await execute(connection, bulk.announcement(), prepare=False)
    return bulk.count
