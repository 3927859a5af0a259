"""The queues of a dashboard, read in short read-only transactions, few at the same time."""

from __future__ import annotations

import asyncio
import logging
import re
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import AsyncConnection
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import dict_row

from lonnymq.client import calls
from lonnymq.client._async.connections import AsyncSource, source_of
from lonnymq.client._async.pool import execute
from lonnymq.client.call import Call, schema_name
from lonnymq.client.dsn import complete_dsn
from lonnymq.dashboard.access import Access, Role
from lonnymq.dashboard.errors import ApiError
from lonnymq.errors import InvalidArgument, LonnyMQError, NotInstalled, TooLarge, translate

logger = logging.getLogger("lonnymq.dashboard")

KEY = re.compile(r"[A-Za-z0-9_.-]{1,64}")
MAX_CONNECTIONS = 4
READ = "set transaction read only; set local statement_timeout = '10s'; set local jit = off"
WRITE = "set local statement_timeout = '60s'; set local lock_timeout = '5s'"

# Longer than the statement timeouts, for a server or a network that does not answer at all.
READ_SECONDS, WRITE_SECONDS = 12.0, 62.0

RATE_WINDOW_MS = 10_000

Row = dict[str, Any]
Function = Callable[..., Call[Any]]  # of `lonnymq.client.calls`


class QueueAt:
    """The location of a queue: a DSN or a pool of psycopg's async connections, and a schema."""

    def __init__(self, source: Any, *, schema: str = "lonnymq") -> None:
        self.source, self.schema = source, schema_name(schema)


class MonitoredQueue:
    """One queue of the dashboard."""

    def __init__(self, key: str, at: QueueAt) -> None:
        self.key, self.schema = key, at.schema
        source = at.source
        self.database = ""
        self.dsn: str | None = None
        if isinstance(source, str):
            source = complete_dsn(source, application_name="lonnymq dashboard")
            self.database, self.dsn = describe_database(source), source
        self.source: AsyncSource = source_of(source, max_connections=MAX_CONNECTIONS)
        self.slots = asyncio.Semaphore(MAX_CONNECTIONS)
        self.creation_rate = CreationRate()
        self.metric_channels: list[str] = []

    @property
    def label(self) -> str:
        """The name of the queue for people."""
        return f"{self.database} · {self.schema}" if self.database else self.schema

    async def rows(self, function: Function, *arguments: Any, **options: Any) -> list[Row]:
        """Read the rows of a function."""
        async with self.read_transaction() as transaction:
            return await transaction.rows(function, *arguments, **options)

    async def rows_and_now(
        self, function: Function, *arguments: Any, **options: Any
    ) -> tuple[list[Row], int]:
        """Read the rows of a function, and the time of the database."""
        async with self.read_transaction() as transaction:
            rows = await transaction.rows(function, *arguments, **options)
            return rows, await transaction.call(calls.epoch)

    def read_transaction(self) -> AbstractAsyncContextManager[QueueTransaction]:
        """A read-only transaction."""
        return self.transaction(READ, READ_SECONDS)

    def write_transaction(self) -> AbstractAsyncContextManager[QueueTransaction]:
        """A transaction for an action and the entry in the audit log."""
        return self.transaction(WRITE, WRITE_SECONDS)

    def trial_transaction(self) -> AbstractAsyncContextManager[QueueTransaction]:
        """A transaction that is always rolled back."""
        return self.transaction(WRITE, WRITE_SECONDS, force_rollback=True)

    @asynccontextmanager
    async def transaction(
        self, settings: str, seconds: float, *, force_rollback: bool = False
    ) -> AsyncIterator[QueueTransaction]:
        """A transaction with these settings and a time limit. Errors of the database become errors of the API."""
        try:
            async with (
                asyncio.timeout(seconds),
                self.slots,
                self.source.connection() as connection,
                connection.transaction(force_rollback=force_rollback),
            ):
                await connection.execute(settings.encode(), prepare=False)
                yield QueueTransaction(connection, self.schema)
        except (psycopg.Error, LonnyMQError, TimeoutError) as error:
            raise self.to_api_error(error) from error

    def to_api_error(self, error: Exception) -> ApiError:
        """Translate an error of the database. The log gets the type of the error, never the text."""
        known = error if isinstance(error, LonnyMQError) else translate(error)
        match known or error:
            case NotInstalled():
                return ApiError(
                    "not_installed",
                    f"Schema {self.schema} has no queue, or a queue older than this dashboard.",
                    advice=f"Run: lonnymq install --schema {self.schema}",
                )
            case TooLarge():
                return ApiError("too_large", str(known))
            case LonnyMQError() if not isinstance(error, TimeoutError):
                return ApiError("invalid", str(known))
            case psycopg.errors.InsufficientPrivilege():
                return ApiError(
                    "unavailable",
                    "The database user of the dashboard may not do this.",
                    advice="Grant the role lonnymq_viewer, or lonnymq_admin for actions, to the database user.",
                )
            case psycopg.errors.QueryCanceled():
                return ApiError(
                    "unavailable", "The query took too long.", advice="Try again later."
                )
            case psycopg.DataError():
                return ApiError("invalid", "The database cannot store one of the values.")
            case psycopg.errors.LockNotAvailable():
                return ApiError(
                    "unavailable",
                    "Another transaction is changing the same rows.",
                    advice="Try again.",
                )
        sqlstate = getattr(error, "sqlstate", None) or "without SQLSTATE"
        logger.warning("queue %s: %s %s", self.key, type(error).__name__, sqlstate)
        return ApiError(
            "unavailable",
            "The database does not answer.",
            advice="Check that the PostgreSQL server is running. The dashboard tries again automatically.",
        )

    async def close(self) -> None:
        """Close the connections of the dashboard."""
        await self.source.close()


@dataclass(frozen=True, slots=True)
class QueueTransaction:
    """An open transaction, in which functions of the queue are called by their descriptions."""

    connection: AsyncConnection[Any]
    schema: str
    access: Access | None = None  # with a role, limits actions on many channels
    role: Role = Role.ACT

    def allows(self, channel: str) -> bool:
        """Whether the user may act in a channel."""
        return self.access is None or self.access.allows(self.role, channel)

    def shows_payloads(self, channel: str) -> bool:
        """Whether the user may see the payloads of a channel."""
        return self.access is None or self.access.find_payloads(channel) == "shown"

    async def call(self, function: Function, *arguments: Any, **options: Any) -> Any:
        """Call a function, and return the answer."""
        call = function(self.schema, *arguments, **options)
        return await execute(self.connection, call, prepare=False)

    async def rows(self, function: Function, *arguments: Any, **options: Any) -> list[Row]:
        """Call a function, and return the rows as dictionaries. JSON stays text."""
        call = function(self.schema, *arguments, **options)
        cursor = self.connection.cursor(row_factory=dict_row)
        await cursor.execute(call.sql.encode(), call.parameters)
        return await cursor.fetchall()


def build_queues(queues: Mapping[str, Any]) -> dict[str, MonitoredQueue]:
    """The queues by key."""
    if not queues:
        raise InvalidArgument(
            "queues is empty: pass at least one queue, for example create_app({'jobs': dsn})"
        )
    for key in queues:
        if not KEY.fullmatch(key):
            raise InvalidArgument(
                f"the key {key!r} of a queue is not allowed: use 1 to 64 of A-Z, a-z, 0-9, '_', '.', '-'"
            )
    return {
        key: MonitoredQueue(key, at if isinstance(at, QueueAt) else QueueAt(at))
        for key, at in queues.items()
    }


def describe_database(dsn: str) -> str:
    """The name of a database for people, with the host if the host is another machine."""
    known = conninfo_to_dict(dsn)
    host, name = str(known.get("host") or ""), str(known.get("dbname") or "")
    return f"{name} at {host}" if host and not host.startswith(("/", "@")) else name


class CreationRate:
    """How many messages are created per second, from the highest id at each reading."""

    def __init__(self) -> None:
        self.readings: deque[tuple[int, int]] = deque(maxlen=60)

    def update(self, now_at: int, last_id: int) -> float | None:
        """The rate since the first reading of the last ten seconds, unknown at the first reading."""
        oldest_at = now_at - RATE_WINDOW_MS
        while len(self.readings) > 1 and self.readings[0][0] < oldest_at:
            self.readings.popleft()
        first = self.readings[0] if self.readings else None
        self.readings.append((now_at, last_id))
        if first is None or first[0] < now_at - 6 * RATE_WINDOW_MS or first[1] > last_id:
            return None
        return per_second(last_id - first[1], now_at - first[0])


def per_second(count: int | None, milliseconds: int | None) -> float | None:
    """A count per second, unknown where the count or the duration is unknown."""
    if count is None or milliseconds is None or milliseconds <= 0:
        return None
    return round(count * 1000 / milliseconds, 3)
