"""Connections of Spark's processes to the database, and what is said when there is none, or no queue in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lonnymq.errors import LonnyMQError, NotInstalled, Unreachable
from lonnymq.spark.options import Options

if TYPE_CHECKING:  # tasks that only read do without psycopg, and start sooner
    from psycopg import Connection

PATIENCE = 10  # seconds: an address that nobody answers at is told of, not waited for


class NotGranted(LonnyMQError):
    """The database's user lacks a right: the text says which, and what to do."""


def conninfo(options: Options, *, name: str = "lonnymq spark") -> str:
    """What libpq is told: the address, with a name that shows in pg_stat_activity."""
    from psycopg.conninfo import conninfo_to_dict, make_conninfo

    said = conninfo_to_dict(options.url)
    added: dict[str, str | int] = {"application_name": name, "connect_timeout": PATIENCE}
    return make_conninfo(
        options.url, **{key: value for key, value in added.items() if key not in said}
    )


def open_connection(options: Options, *, name: str = "lonnymq spark") -> Connection[Any]:
    """A connection that commits by itself; PgBouncer may stand before the server."""
    from psycopg import OperationalError, connect

    try:
        return connect(conninfo(options, name=name), autocommit=True, prepare_threshold=None)
    except OperationalError as error:
        raise Unreachable(f"the database cannot be reached: {str(error).strip()}") from None


def check_installed(connection: Connection[Any], options: Options, *, table: str) -> None:
    """Raise unless the queue is there, and new enough to have this table."""
    schema = options.schema
    row = connection.execute(
        "select to_regclass(%s) is not null, to_regclass(%s) is not null, current_database()",
        (f"{schema}.message", f"{schema}.{table}"),
    ).fetchone()
    has_queue, has_table, database = row or (False, False, "")
    if not has_queue:
        raise NotInstalled(
            f"no queue is installed in the schema {schema} of the database {database}: "
            f"lonnymq.Queue(url, schema={schema!r}).install() does it"
        )
    if not has_table:
        raise NotInstalled(
            f"the queue in the schema {schema} is older than this library: "
            f"lonnymq.Queue(url, schema={schema!r}).install() upgrades it"
        )


def check_granted(connection: Connection[Any], table: str, right: str, *, otherwise: str) -> None:
    """Raise unless this user has a right on a table; say what to do otherwise."""
    row = connection.execute(
        "select has_table_privilege(%s, %s), current_user::text", (table, right)
    ).fetchone()
    is_granted, user = row or (False, "")
    if not is_granted:
        raise NotGranted(f"the user {user} may not {right} the table {table}: {otherwise}")
