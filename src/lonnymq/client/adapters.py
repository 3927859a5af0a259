"""Runs a call inside the caller's own transaction, on the connection of whichever library holds it; commits nothing."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from functools import lru_cache
from itertools import count
from typing import Any, TypeVar

from psycopg import AsyncConnection, AsyncCursor, Connection, Cursor
from psycopg.rows import tuple_row

from lonnymq.client.call import Call
from lonnymq.errors import UnknownConnection, translated

Answer = TypeVar("Answer")
Rows = Sequence[Sequence[Any]]

# The module's name says which library a type is of, so that no library is imported that the caller does not use.
SYNC = "psycopg (Connection, Cursor), SQLAlchemy 2 on psycopg (Connection, Session), a Django connection to PostgreSQL"
ASYNC = (
    "psycopg (AsyncConnection, AsyncCursor), SQLAlchemy 2 on psycopg or asyncpg (AsyncConnection, AsyncSession), "
    "asyncpg (Connection)"
)


def run_using(using: object, call: Call[Answer]) -> Answer:
    """Run a call on the caller's connection."""
    execute = SYNC_EXECUTORS.get(library_of(using))
    if execute is None:
        raise UnknownConnection(
            f"using= of a Queue takes {SYNC}, not {type_name(using)}. using= of an AsyncQueue takes {ASYNC}"
        )
    with translated():
        rows = execute(using, call.sql, call.parameters)
    return call.parse(rows)


async def run_using_async(using: object, call: Call[Answer]) -> Answer:
    """Run a call on the caller's async connection."""
    execute = ASYNC_EXECUTORS.get(library_of(using))
    if execute is None:
        raise UnknownConnection(
            f"using= of an AsyncQueue takes {ASYNC}, not {type_name(using)}. using= of a Queue takes {SYNC}"
        )
    with translated():
        rows = await execute(using, call.sql, call.parameters)
    return call.parse(rows)


def library_of(using: object) -> str:
    """Which library a connection is of, and which half: the key of its executor."""
    for kind in type(using).__mro__:
        root, _, rest = kind.__module__.partition(".")
        if root == "sqlalchemy":
            return "sqlalchemy async" if rest.startswith("ext.asyncio") else "sqlalchemy"
        if root == "psycopg":
            return (
                "psycopg async" if isinstance(using, AsyncConnection | AsyncCursor) else "psycopg"
            )
        if root in ("django", "asyncpg"):
            return root
    return "unknown"


def type_name(using: object) -> str:
    """The type of what was given, as its module names it."""
    return f"{type(using).__module__}.{type(using).__qualname__}"


@lru_cache(maxsize=1024)
def number_placeholders(sql: str) -> str:
    """The statement with $1, $2 and so on for its placeholders."""
    numbers = count(1)
    return re.sub("%s", lambda _: f"${next(numbers)}", sql)


def execute_on_psycopg(using: Any, sql: str, parameters: tuple[Any, ...]) -> Rows:
    """Run on psycopg, whatever kind of cursors and rows the connection makes by itself."""
    connection = using if isinstance(using, Connection) else using.connection
    return (
        Cursor(connection, row_factory=tuple_row)
        .execute(sql.encode(), parameters, prepare=False)
        .fetchall()
    )


async def execute_on_psycopg_async(using: Any, sql: str, parameters: tuple[Any, ...]) -> Rows:
    """Run on psycopg's async half."""
    connection = using if isinstance(using, AsyncConnection) else using.connection
    cursor = AsyncCursor(connection, row_factory=tuple_row)
    return await (await cursor.execute(sql.encode(), parameters, prepare=False)).fetchall()


def execute_on_sqlalchemy(using: Any, sql: str, parameters: tuple[Any, ...]) -> Rows:
    """Run on a Connection, or on the one that a Session's transaction is on."""
    connection = using if hasattr(using, "exec_driver_sql") else using.connection()
    if connection.dialect.driver != "psycopg":
        raise UnknownConnection(
            f"using= takes SQLAlchemy on psycopg, not on {connection.dialect.driver}"
        )
    rows: Rows = connection.exec_driver_sql(sql, parameters).fetchall()
    return rows


async def execute_on_sqlalchemy_async(using: Any, sql: str, parameters: tuple[Any, ...]) -> Rows:
    """Run on an AsyncConnection, or on the one that an AsyncSession's transaction is on."""
    connection = using if hasattr(using, "exec_driver_sql") else await using.connection()
    driver = connection.dialect.driver
    if driver not in ("psycopg", "psycopg_async", "asyncpg"):
        raise UnknownConnection(f"using= takes SQLAlchemy on psycopg or asyncpg, not on {driver}")
    written = number_placeholders(sql) if driver == "asyncpg" else sql
    rows: Rows = (await connection.exec_driver_sql(written, parameters)).fetchall()
    return rows


async def execute_on_asyncpg(using: Any, sql: str, parameters: tuple[Any, ...]) -> Rows:
    """Run on asyncpg, whose placeholders are numbered."""
    rows: Rows = await using.fetch(number_placeholders(sql), *parameters)
    return rows


def execute_on_django(using: Any, sql: str, parameters: tuple[Any, ...]) -> Rows:
    """Run on a Django connection."""
    if using.vendor != "postgresql":
        raise UnknownConnection(
            f"using= takes a Django connection to PostgreSQL, not to {using.vendor}"
        )
    with using.cursor() as cursor:
        cursor.execute(sql, parameters)
        rows: Rows = cursor.fetchall()
        return rows


SYNC_EXECUTORS: dict[str, Callable[[Any, str, tuple[Any, ...]], Rows]] = {
    "psycopg": execute_on_psycopg,
    "sqlalchemy": execute_on_sqlalchemy,
    "django": execute_on_django,
}
ASYNC_EXECUTORS: dict[str, Callable[[Any, str, tuple[Any, ...]], Awaitable[Rows]]] = {
    "psycopg async": execute_on_psycopg_async,
    "sqlalchemy async": execute_on_sqlalchemy_async,
    "asyncpg": execute_on_asyncpg,
}
