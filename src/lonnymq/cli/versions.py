"""Which version of the queue is installed where a command looks."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from lonnymq.cli.session import Session
from lonnymq.client.call import schema_name

if TYPE_CHECKING:
    from psycopg import Connection

COLUMNS = "library_version, library_rank, functions_checksum, installed_at"
FOUND = "select to_regclass(%s) is not null, to_regprocedure(%s) is not null"
SERVER = "select current_setting('server_version'), current_database(), current_user::text"


@dataclass(frozen=True, slots=True)
class Installed:
    """The library version that installed a queue, and when."""

    library_version: str
    library_rank: list[int]
    functions_checksum: str
    installed_at: datetime


@dataclass(frozen=True, slots=True)
class Server:
    """A server, and as whom we are there."""

    version: str
    database: str
    user: str


def installed(at: Session) -> Installed | None:
    """What is installed in the schema; None if nothing is."""
    with open_connection(at) as connection:
        return installed_at(connection, at.schema)


def installed_at(connection: Connection[tuple[object, ...]], schema: str) -> Installed | None:
    """What is installed in a schema; None if nothing is. One of the queue's roles may ask the function only."""
    name, function = f"{schema_name(schema)}.installed", f"{schema_name(schema)}.queue_installed()"
    there, is_new = connection.execute(FOUND, (name, function)).fetchone() or (False, False)
    if not there:
        return None
    source = function if is_new else name
    row = connection.execute(f"select {COLUMNS} from {source}".encode()).fetchone()  # noqa: S608 - a schema_name
    return Installed(*row) if row else None  # type: ignore[arg-type]  # as the query selects them


def roles_at(at: Session) -> bool | None:
    """Whether the queue has roles; None if there is no queue, or one too old to know."""
    function = f"{schema_name(at.schema)}.queue_installed()"
    with open_connection(at) as connection:
        found = connection.execute("select to_regprocedure(%s) is not null", (function,)).fetchone()
        if found != (True,):
            return None
        row = connection.execute(f"select roles from {function}".encode()).fetchone()  # noqa: S608 - a schema_name
    return bool(row and row[0])


def server(connection: Connection[tuple[object, ...]]) -> Server:
    """The server of a connection."""
    return next(Server(*map(str, row)) for row in connection.execute(SERVER))


def open_connection(at: Session) -> Connection[tuple[object, ...]]:
    """A connection of one's own, to look at what no function of the queue tells."""
    from psycopg import connect

    return connect(at.dsn, autocommit=True, prepare_threshold=None)
