"""The connections that an AsyncQueue opens to a DSN by itself: a bounded number, each answer with a time limit."""

from __future__ import annotations

import asyncio
import os
import weakref
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from time import monotonic
from typing import Any, TypeVar

from psycopg import AsyncConnection, AsyncCursor, Error, OperationalError, waiting
from psycopg.abc import PQGen
from psycopg.pq import TransactionStatus
from psycopg.rows import tuple_row

from lonnymq.client.array_dumpers import register
from lonnymq.client.call import Call
from lonnymq.client.connection_state import (
    MAX_CONNECTIONS,
    PREPARE_AT_ONCE,
    READ_ONLY,
    TIMEOUT_SECONDS,
    cancel_in_thread,
    close_forgotten,
    encoded_statement,
    has_cancel_safe,
    is_alive,
    takes_long,
)
from lonnymq.client.dsn import complete_dsn
from lonnymq.client.slots import AsyncSlots, time_limit_async
from lonnymq.errors import raise_translated, sqlstate_of

Answer = TypeVar("Answer")

WAIT_INTERVAL = 0.1  # psycopg's own: how often a wait looks for Ctrl-C and for its limit
CANCEL_SECONDS = 0.5  # for the server to take a cancellation, and again to end the statement
IDLE_SECONDS = 60.0

register()


class AsyncReusableConnection(AsyncConnection[Any]):
    """A connection that keeps a cursor for each statement: one that runs the same again knows its types already.

    An answer that takes longer than `limit` seconds ends the statement, and the connection with it if the server does
    not even confirm that. psycopg alone would wait for 10 seconds after a cancellation.
    """

    cursors: dict[str, AsyncCursor[Any]]
    limit: float | None = None
    idle_since = 0.0
    is_silent = False

    @classmethod
    async def open(cls, dsn: str, limit: float | None) -> AsyncReusableConnection:
        """Open one."""
        async with time_limit_async(limit):
            opened = await cls.connect(
                dsn, autocommit=True, prepare_threshold=None, row_factory=tuple_row
            )
        opened.cursors, opened.limit = {}, limit
        return opened

    async def wait(
        self, gen: PQGen[Answer], interval: float = WAIT_INTERVAL, timeout: float | None = None
    ) -> Answer:
        """Wait for an answer, up to the limit."""
        seconds = self.limit if timeout is None else timeout
        try:
            return await waiting.wait_async(
                gen, self.pgconn.socket, interval=interval, timeout=seconds
            )
        except OperationalError:
            if seconds is None or self.pgconn.transaction_status != TransactionStatus.ACTIVE:
                raise
            await self.end_statement(gen)
            raise OperationalError(f"no answer from the database within {seconds:g} s") from None
        except (asyncio.CancelledError, KeyboardInterrupt):
            await self.end_statement(gen)
            raise

    async def end_statement(self, gen: PQGen[Any]) -> None:
        """Ask the server to cancel the statement, and close the connection unless the server does so in time."""
        try:
            if self.pgconn.transaction_status == TransactionStatus.ACTIVE:
                if has_cancel_safe():
                    await self.cancel_safe(timeout=CANCEL_SECONDS)
                else:
                    cancel_in_thread(self)
                await waiting.wait_async(
                    gen, self.pgconn.socket, interval=WAIT_INTERVAL, timeout=CANCEL_SECONDS
                )
        except Error:
            pass  # the statement was cancelled, or nobody answers
        finally:
            if self.pgconn.transaction_status == TransactionStatus.ACTIVE:
                self.is_silent = True
                self.pgconn.finish()


class AsyncDsnSource:
    """Opens up to `max_connections` connections to a DSN as they are needed, and closes the ones that stay idle.

    `timeout` is how many seconds a call waits for a free connection, and then for its answer.
    """

    def __init__(
        self,
        dsn: str,
        *,
        max_connections: int = MAX_CONNECTIONS,
        timeout: float | None = TIMEOUT_SECONDS,
    ) -> None:
        self.dsn, self.timeout = complete_dsn(dsn), timeout
        self.prepare: bool | None = None
        self.isolate = False
        self.process = os.getpid()
        self.slots = AsyncSlots(max_connections)
        self.idle: list[AsyncReusableConnection] = []
        weakref.finalize(self, close_forgotten, self.idle, self.process)

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[AsyncReusableConnection]:
        """Lend an idle connection or a new one; take it back unless it broke."""
        connection = await self.acquire(self.timeout)
        try:
            yield connection
        except Exception as error:
            await self.leave_server(connection, error)
            raise
        finally:
            await self.give_back(connection)

    async def run(self, call: Call[Answer], *, timeout: float | None = None) -> Answer:
        """Run a call on an idle connection or a new one, with nothing around it that a single call would feel."""
        seconds, started = timeout or self.timeout, monotonic()
        connection = await self.acquire(seconds)
        if timeout is None and takes_long(call.sql):
            connection.limit = None
        elif seconds is not None:
            connection.limit = max(0.05, seconds - (monotonic() - started))
        try:
            return await execute(connection, call, prepare=self.prepare)
        except Exception as error:
            await self.leave_server(connection, error)
            raise_translated(error)
        finally:
            await self.give_back(connection)

    async def acquire(self, seconds: float | None) -> AsyncReusableConnection:
        """Wait for a slot, and take an idle connection or open one."""
        if self.process != os.getpid():  # a fork inherits nothing
            self.process = os.getpid()
            self.idle.clear()
            self.slots = AsyncSlots(self.slots.count)
        await self.slots.acquire(seconds)
        try:
            connection = await self.take() or await self.open(seconds)
        except BaseException:
            self.slots.release()
            raise
        connection.limit = seconds
        return connection

    async def take(self) -> AsyncReusableConnection | None:
        """An idle connection that the server has not closed meanwhile."""
        while (connection := self.pop_idle(-1)) is not None:
            if is_alive(connection):
                return connection
            await connection.close()
        return None

    async def give_back(self, connection: AsyncReusableConnection) -> None:
        """Keep it for the next call, unless it broke."""
        try:
            if connection.pgconn.transaction_status == TransactionStatus.IDLE:
                connection.idle_since = monotonic()
                self.idle.append(connection)
                if self.idle[0].idle_since < connection.idle_since - IDLE_SECONDS:
                    await self.trim()
            else:
                await connection.close()
            if connection.is_silent:  # and so may be the others
                await self.close()
        finally:
            self.slots.release()

    def pop_idle(self, at: int) -> AsyncReusableConnection | None:
        """Remove an idle connection, the last or the first; others may do the same just now."""
        try:
            return self.idle.pop(at)
        except IndexError:
            return None

    async def trim(self, seconds: float | None = None) -> None:
        """Close the connections that nobody needed for a while."""
        newest = monotonic() - (IDLE_SECONDS if seconds is None else seconds)
        while self.idle and self.idle[0].idle_since <= newest:
            connection = self.pop_idle(0)
            if connection is not None:
                await connection.close()

    async def leave_server(self, connection: AsyncReusableConnection, error: Exception) -> None:
        """Close the connections if the server takes no writes: another one may be primary now."""
        if sqlstate_of(error) == READ_ONLY:
            await connection.close()
            await self.close()

    async def open(self, seconds: float | None) -> AsyncReusableConnection:
        """Open a connection; behind a pooler, whose process ids are its own, nothing is prepared on it."""
        connection = await AsyncReusableConnection.open(self.dsn, seconds)
        try:
            row = await (await connection.execute("select pg_backend_pid()")).fetchone()
        except BaseException:
            await connection.close()
            raise
        if row == (connection.info.backend_pid,):
            connection.prepare_threshold = PREPARE_AT_ONCE
        return connection

    async def close(self) -> None:
        """Close the idle connections; the AsyncQueue stays usable and would open new ones."""
        while (connection := self.pop_idle(-1)) is not None:
            await connection.close()


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
