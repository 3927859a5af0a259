"""Connections to the database from drivers and executors, and checks of the queue and of privileges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from lonnymq.errors import LonnyMQError, NotInstalled, Unreachable
from lonnymq.spark.options import Options

if TYPE_CHECKING:  # tasks that only read do without psycopg, and start sooner
    from psycopg import Connection

    from lonnymq.client.call import Call

CONNECT_SECONDS = 10
Answer = TypeVar("Answer")


class MissingPrivilege(LonnyMQError):
    """Your database user lacks a privilege. The error names the privilege and how to grant it."""


def conninfo(options: Options, *, name: str = "lonnymq spark") -> str:
    """The address for libpq, with a name that shows in pg_stat_activity, a timeout and keepalives."""
    from lonnymq.client.dsn import complete_dsn

    return complete_dsn(options.url, application_name=name, connect_timeout=CONNECT_SECONDS)


def open_connection(options: Options, *, name: str = "lonnymq spark") -> Connection[Any]:
    """An autocommit connection that works through PgBouncer too."""
    from psycopg import OperationalError, connect

    try:
        return connect(conninfo(options, name=name), autocommit=True, prepare_threshold=None)
    except OperationalError as error:
        raise Unreachable(f"the database cannot be reached: {str(error).strip()}") from None


def run_call(connection: Connection[Any], call: Call[Answer]) -> Answer:
    """Run a call of a SQL function in the connection's transaction."""
    return call.parse(connection.execute(call.sql.encode(), call.parameters).fetchall())


def check_installed(connection: Connection[Any], options: Options, *, table: str) -> None:
    """Raise unless the queue is installed, and new enough to have this table."""
    schema = options.schema
    row = connection.execute(
        "select to_regclass(%s) is not null, to_regclass(%s) is not null, current_database()",
        (f"{schema}.message", f"{schema}.{table}"),
    ).fetchone()
    has_queue, has_table, database = row or (False, False, "")
    if not has_queue:
        raise NotInstalled(
            f"no queue is installed in the schema {schema} of the database {database}: "
            f"install the queue with lonnymq.Queue(url, schema={schema!r}).install()"
        )
    if not has_table:
        raise queue_outdated(schema)


def queue_outdated(schema: str) -> NotInstalled:
    """The error for a queue that an older version of the library installed."""
    return NotInstalled(
        f"the queue in the schema {schema} is older than this library: "
        f"upgrade the queue with lonnymq.Queue(url, schema={schema!r}).install()"
    )


def check_granted(connection: Connection[Any], table: str, right: str, *, advice: str) -> None:
    """Raise with advice unless this user has a privilege on a table."""
    row = connection.execute(
        "select has_table_privilege(%s, %s), current_user::text", (table, right)
    ).fetchone()
    is_granted, user = row or (False, "")
    if not is_granted:
        raise MissingPrivilege(f"the user {user} may not {right} the table {table}: {advice}")
