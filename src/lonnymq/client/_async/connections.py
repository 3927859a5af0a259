"""Where an AsyncQueue's calls run: connections of its own, a pool's, or the one that the caller gave."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Protocol, TypeVar

from psycopg import AsyncConnection, AsyncCursor

from lonnymq.client._async.pool import AsyncDsnSource, AsyncReusableConnection, execute
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

ACCEPTED = (
    "a DSN, a psycopg AsyncConnection, or a pool of them such as psycopg_pool.AsyncConnectionPool"
)


class AsyncSource(Protocol):
    """Lends connections; knows whether calls may be prepared on them (None: each connection does) and isolated."""

    prepare: bool | None
    isolate: bool

    def connection(self) -> AbstractAsyncContextManager[AsyncConnection[Any]]:
        """Lend a connection for one call."""

    async def trim(self) -> None:
        """Close what was opened here and not needed for a while."""

    async def close(self) -> None:
        """Close what was opened here."""


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

    async def trim(self) -> None:
        """Close nothing."""

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

    async def trim(self) -> None:
        """Close nothing."""

    async def close(self) -> None:
        """Close nothing: the pool is the caller's."""


def source_of(
    given: object,
    *,
    max_connections: int = MAX_CONNECTIONS,
    timeout: float | None = TIMEOUT_SECONDS,
) -> AsyncSource:
    """The source that an AsyncQueue was given."""
    if isinstance(given, str):
        return AsyncDsnSource(given, max_connections=max_connections, timeout=timeout)
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


async def run_dequeue(
    source: AsyncSource, call: Call[Answer], *, timeout: float | None = None
) -> Answer:
    """Run a dequeue, which needs a READ COMMITTED transaction of its own."""
    if isinstance(source, AsyncDsnSource) and not source.isolate:
        try:
            return await source.run(call, timeout=timeout)
        except WrongIsolation:
            source.isolate = True
    async with source.connection() as connection:
        reject_open_transaction(connection)
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


def remove_limit(connection: AsyncConnection[Any]) -> None:
    """Let statements take as long as they need, until the connection is given back."""
    if isinstance(connection, AsyncReusableConnection):
        connection.limit = None


async def copy_messages(source: AsyncSource, bulk: Bulk) -> int:
    """Copy messages in and announce them, in one transaction."""
    async with source.connection() as connection:
        remove_limit(connection)
        with translated():
            async with connection.transaction():
                now = await execute(connection, bulk.clock(), prepare=False)
                async with AsyncCursor(connection).copy(bulk.statement.encode()) as copy:
                    copy.set_types(bulk.types)
                    for row in bulk.rows(now):
                        await copy.write_row(row)
                await execute(connection, bulk.announcement(), prepare=False)
    return bulk.count
