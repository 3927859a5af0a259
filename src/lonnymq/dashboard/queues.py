"""The queues that a page shows, and how they are read: in read-only transactions, few at once, never for long."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import psycopg
from psycopg import AsyncConnection
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import dict_row

from lonnymq.client._async.connections import AsyncSource, source_of
from lonnymq.client.call import schema_name
from lonnymq.dashboard.creating import Creating
from lonnymq.dashboard.problems import Problem
from lonnymq.errors import InvalidArgument, LonnyMQError, NotInstalled, TooLarge, translate

logger = logging.getLogger("lonnymq.dashboard")

KEY = re.compile(r"[A-Za-z0-9_.-]{1,64}")
AT_ONCE = 4
NOW = "select {schema}.epoch() as now_at"
READ = "set transaction read only; set local statement_timeout = '10s'; set local jit = off"
WRITE = "set local statement_timeout = '60s'; set local lock_timeout = '5s'"

Row = dict[str, Any]


class QueueAt:
    """A queue by where it is: a DSN or a pool of psycopg's async connections, and a schema."""

    def __init__(self, source: Any, *, schema: str = "lonnymq") -> None:
        self.source, self.schema = source, schema_name(schema)


class Shown:
    """One queue of the page."""

    def __init__(self, key: str, at: QueueAt) -> None:
        self.key, self.schema = key, at.schema
        source = at.source
        self.database = ""
        if isinstance(source, str):
            source = with_our_name(source)
            self.database = place_name(source)
        self.source: AsyncSource = source_of(source)
        self.places = asyncio.Semaphore(AT_ONCE)
        self.creating = Creating()

    @property
    def label(self) -> str:
        """The queue for people."""
        return f"{self.database} · {self.schema}" if self.database else self.schema

    async def rows(self, sql: str, parameters: Mapping[str, Any] | None = None) -> list[Row]:
        """Read rows; `{schema}` in the statement is the queue's."""
        async with self.reading() as connection:
            return await fetch(connection, self.schema, sql, parameters)

    async def rows_and_now(
        self, sql: str, parameters: Mapping[str, Any] | None = None
    ) -> tuple[list[Row], int]:
        """Read rows, and the database's time."""
        async with self.reading() as connection:
            rows = await fetch(connection, self.schema, sql, parameters)
            now_at: int = (await fetch(connection, self.schema, NOW))[0]["now_at"]
        return rows, now_at

    async def row(self, sql: str, parameters: Mapping[str, Any] | None = None) -> Row:
        """Read the only row."""
        return (await self.rows(sql, parameters))[0]

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[AsyncConnection[Any]]:
        """A transaction in which nothing can be written."""
        async with self.transaction(READ) as connection:
            yield connection

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[AsyncConnection[Any]]:
        """A transaction for an action and its entry in the audit log."""
        async with self.transaction(WRITE) as connection:
            yield connection

    @asynccontextmanager
    async def trying(self) -> AsyncIterator[AsyncConnection[Any]]:
        """A transaction of which nothing stays."""
        async with self.transaction(WRITE, force_rollback=True) as connection:
            yield connection

    @asynccontextmanager
    async def transaction(
        self, settings: str, *, force_rollback: bool = False
    ) -> AsyncIterator[AsyncConnection[Any]]:
        """A transaction under these settings; what the database refuses is a problem with advice."""
        try:
            async with (
                self.places,
                self.source.connection() as connection,
                connection.transaction(force_rollback=force_rollback),
            ):
                await connection.execute(settings.encode(), prepare=False)
                yield connection
        except (psycopg.Error, LonnyMQError) as error:
            raise self.problem_of(error) from error

    def problem_of(self, error: Exception) -> Problem:
        """What a database's error means to who looks at the page; the log has its kind, never its text."""
        known = error if isinstance(error, LonnyMQError) else translate(error)
        match known or error:
            case NotInstalled():
                return Problem(
                    "not_installed",
                    f"Schema {self.schema} has no queue, or an older one than this page.",
                    advice=f"Run: lonnymq install --schema {self.schema}",
                )
            case TooLarge():
                return Problem("too_large", str(known))
            case LonnyMQError():
                return Problem("invalid", str(known))
            case psycopg.errors.InsufficientPrivilege():
                return Problem(
                    "unavailable",
                    "The database does not allow this page's user to do that.",
                    advice="Grant it, or give the page another user.",
                )
            case psycopg.errors.QueryCanceled():
                return Problem(
                    "unavailable", "The database took too long.", advice="Try again later."
                )
            case psycopg.DataError():
                return Problem("invalid", "A value cannot be stored in this database.")
            case psycopg.errors.LockNotAvailable():
                return Problem(
                    "unavailable", "Somebody else is changing the same.", advice="Try again."
                )
        logger.warning("queue %s: %s %s", self.key, type(error).__name__, sqlstate(error))
        return Problem(
            "unavailable",
            "The database does not answer.",
            advice="Check that the server runs; the page tries again by itself.",
        )

    async def close(self) -> None:
        """Close the connections that were opened here."""
        await self.source.close()


async def fetch(
    connection: AsyncConnection[Any],
    schema: str,
    sql: str,
    parameters: Mapping[str, Any] | None = None,
) -> list[Row]:
    """Run a statement of ours, in which `{schema}` is the queue's, and fetch its rows."""
    cursor = connection.cursor(row_factory=dict_row)
    await cursor.execute(sql.replace("{schema}", schema).encode(), parameters)
    return await cursor.fetchall() if cursor.description else []


def shown(queues: Mapping[str, Any]) -> dict[str, Shown]:
    """The queues by their keys."""
    if not queues:
        raise InvalidArgument("a page shows at least one queue: create_app({'jobs': dsn})")
    for key in queues:
        if not KEY.fullmatch(key):
            raise InvalidArgument(
                f"a queue's key is 1 to 64 of A-Z, a-z, 0-9, '_', '.' and '-': not {key!r}"
            )
    return {key: Shown(key, place_of(value)) for key, value in queues.items()}


def place_of(value: Any) -> QueueAt:
    """A queue in any of the ways in which it may be given."""
    if isinstance(value, QueueAt):
        return value
    return QueueAt(value)


def with_our_name(dsn: str) -> str:
    """The DSN with a limit to waiting and with our name, where it does not say otherwise."""
    try:
        known: dict[str, Any] = conninfo_to_dict(dsn)
    except psycopg.ProgrammingError:
        raise InvalidArgument(
            "the DSN cannot be read: write postgresql://user@host/database or host=… dbname=…"
        ) from None
    ours = {"connect_timeout": "5", "application_name": "lonnymq dashboard"}
    return make_conninfo(dsn, **{**ours, **known})


def place_name(dsn: str) -> str:
    """A database for people: its name, and its host if it is another machine."""
    known = conninfo_to_dict(dsn)
    host, name = str(known.get("host") or ""), str(known.get("dbname") or "")
    return f"{name} at {host}" if host and not host.startswith(("/", "@")) else name


def sqlstate(error: Exception) -> str:
    """The code of a database's error."""
    return getattr(error, "sqlstate", None) or "without a code"
