"""The queues of a dashboard, read in short read-only transactions, few at the same time."""

from __future__ import annotations

import asyncio
import logging
import re
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import psycopg
from psycopg import AsyncConnection
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import dict_row

from lonnymq.client._async.connections import AsyncSource, source_of
from lonnymq.client.call import schema_name
from lonnymq.dashboard.errors import ApiError
from lonnymq.errors import InvalidArgument, LonnyMQError, NotInstalled, TooLarge, translate

logger = logging.getLogger("lonnymq.dashboard")

KEY = re.compile(r"[A-Za-z0-9_.-]{1,64}")
MAX_CONNECTIONS = 4
NOW = "select {schema}.epoch() as now_at"
READ = "set transaction read only; set local statement_timeout = '10s'; set local jit = off"
WRITE = "set local statement_timeout = '60s'; set local lock_timeout = '5s'"

RATE_WINDOW_MS = 10_000

Row = dict[str, Any]


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
        if isinstance(source, str):
            source = add_defaults(source)
            self.database = describe_database(source)
        self.source: AsyncSource = source_of(source)
        self.slots = asyncio.Semaphore(MAX_CONNECTIONS)
        self.creation_rate = CreationRate()

    @property
    def label(self) -> str:
        """The name of the queue for people."""
        return f"{self.database} · {self.schema}" if self.database else self.schema

    async def rows(self, sql: str, parameters: Mapping[str, Any] | None = None) -> list[Row]:
        """Read rows. `{schema}` in the statement is the schema of the queue."""
        async with self.read_transaction() as connection:
            return await fetch(connection, self.schema, sql, parameters)

    async def rows_and_now(
        self, sql: str, parameters: Mapping[str, Any] | None = None
    ) -> tuple[list[Row], int]:
        """Read rows and the time of the database."""
        async with self.read_transaction() as connection:
            rows = await fetch(connection, self.schema, sql, parameters)
            now_at: int = (await fetch(connection, self.schema, NOW))[0]["now_at"]
        return rows, now_at

    async def row(self, sql: str, parameters: Mapping[str, Any] | None = None) -> Row:
        """Read the only row."""
        return (await self.rows(sql, parameters))[0]

    @asynccontextmanager
    async def read_transaction(self) -> AsyncIterator[AsyncConnection[Any]]:
        """A read-only transaction."""
        async with self.transaction(READ) as connection:
            yield connection

    @asynccontextmanager
    async def write_transaction(self) -> AsyncIterator[AsyncConnection[Any]]:
        """A transaction for an action and the entry in the audit log."""
        async with self.transaction(WRITE) as connection:
            yield connection

    @asynccontextmanager
    async def trial_transaction(self) -> AsyncIterator[AsyncConnection[Any]]:
        """A transaction that is always rolled back."""
        async with self.transaction(WRITE, force_rollback=True) as connection:
            yield connection

    @asynccontextmanager
    async def transaction(
        self, settings: str, *, force_rollback: bool = False
    ) -> AsyncIterator[AsyncConnection[Any]]:
        """A transaction with these settings. Errors of the database become errors of the API."""
        try:
            async with (
                self.slots,
                self.source.connection() as connection,
                connection.transaction(force_rollback=force_rollback),
            ):
                await connection.execute(settings.encode(), prepare=False)
                yield connection
        except (psycopg.Error, LonnyMQError) as error:
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
            case LonnyMQError():
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
        logger.warning("queue %s: %s %s", self.key, type(error).__name__, sqlstate(error))
        return ApiError(
            "unavailable",
            "The database does not answer.",
            advice="Check that the PostgreSQL server is running. The dashboard tries again automatically.",
        )

    async def close(self) -> None:
        """Close the connections of the dashboard."""
        await self.source.close()


async def fetch(
    connection: AsyncConnection[Any],
    schema: str,
    sql: str,
    parameters: Mapping[str, Any] | None = None,
) -> list[Row]:
    """Run a statement, in which `{schema}` is the schema of the queue, and fetch the rows."""
    cursor = connection.cursor(row_factory=dict_row)
    await cursor.execute(sql.replace("{schema}", schema).encode(), parameters)
    return await cursor.fetchall() if cursor.description else []


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
    return {key: MonitoredQueue(key, to_location(value)) for key, value in queues.items()}


def to_location(value: Any) -> QueueAt:
    """The location of a queue that was given as a DSN, a pool or a QueueAt."""
    return value if isinstance(value, QueueAt) else QueueAt(value)


def add_defaults(dsn: str) -> str:
    """The DSN with a connection timeout and an application name, unless the DSN has its own."""
    try:
        known: dict[str, Any] = conninfo_to_dict(dsn)
    except psycopg.ProgrammingError:
        raise InvalidArgument(
            "the DSN is not valid: write postgresql://user@host/database or host=… dbname=…"
        ) from None
    defaults = {"connect_timeout": "5", "application_name": "lonnymq dashboard"}
    return make_conninfo(dsn, **{**defaults, **known})


def describe_database(dsn: str) -> str:
    """The name of a database for people, with the host if the host is another machine."""
    known = conninfo_to_dict(dsn)
    host, name = str(known.get("host") or ""), str(known.get("dbname") or "")
    return f"{name} at {host}" if host and not host.startswith(("/", "@")) else name


def sqlstate(error: Exception) -> str:
    """The SQLSTATE of an error."""
    return getattr(error, "sqlstate", None) or "without SQLSTATE"


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
