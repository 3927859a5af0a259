"""The database that a source is: which one, under which name, and up to where the lake has its history."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import blake2b
from threading import Event
from typing import TYPE_CHECKING, Any

from psycopg import Connection, IsolationLevel

from lonnymq.client import Queue
from lonnymq.client.call import schema_name
from lonnymq.errors import Unreachable
from lonnymq.lake.lives import Lives, Mark, read_lives
from lonnymq.lake.refusals import IdentifierHidden, OtherDatabase, ServerReplaced
from lonnymq.lake.writing import source_name
from lonnymq.spark.connection import check_installed, conninfo, open_connection
from lonnymq.spark.options import Options, read_options

if TYPE_CHECKING:
    from deltalake import DeltaTable

NAME = "lonnymq lake"
LOOK_AGAIN = 0.2  # seconds between two looks whether another sync has ended
MAY_ASK = "select has_function_privilege('pg_control_system()', 'execute'), current_user::text"
# The first part of a WAL file's name is the timeline. A standby has none of its own.
WHICH = """
    select current_database(), (select system_identifier from pg_control_system()),
      (select d.oid from pg_database d where d.datname = current_database()),
      has_table_privilege(%s, 'select'),
      case when not pg_is_in_recovery() then
        ('x' || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8))::bit(32)::integer end
"""


@dataclass(frozen=True)
class Origin:
    """A queue as a source of the lake; shows no address, which may hold a password.

    If it is adopted, somebody says that it is the source's database, whatever the lake knows of that.
    """

    options: Options
    source: str
    identity: int
    timeline: int | None
    may_read_table: bool
    is_adopted: bool = False

    @property
    def address(self) -> str:
        """Where tasks connect to."""
        return conninfo(self.options, name=NAME)

    @property
    def app(self) -> str:
        """What the table's log knows the source's progress by."""
        return f"lonnymq history {self.source}"

    @property
    def life(self) -> int:
        """What the table's log knows the database on this server by, until the server is replaced."""
        return number_of(f"{self.identity} {self.timeline}")

    @property
    def marks(self) -> tuple[Mark, ...]:
        """What the table's log knows the database itself by."""
        known = [(f"lonnymq database {self.source}", self.identity)]
        if self.timeline is not None:
            known.append((f"lonnymq timeline {self.source}", self.timeline))
        return tuple(known)

    def reader(self, table: DeltaTable) -> str:
        """What PostgreSQL knows the lake by: it stays when the lake is moved."""
        return f"lake {table.metadata().id} {self.source}"

    def lives(self, table: DeltaTable) -> Lives:
        """The servers that the source has lived on."""
        return read_lives(table, self.source)

    def reached(self, table: DeltaTable) -> int | None:
        """Up to which position the table has the source's history; None: it has nothing of it.

        Raises if the database is not the one that the lake follows, unless it is adopted.
        """
        if not self.is_adopted:
            self.check_followed(table)
        return table.transaction_version(self.app)

    def is_marked(self, table: DeltaTable) -> bool:
        """Whether the table's log says that the lake follows the database on this server."""
        kept = all(table.transaction_version(name) == value for name, value in self.marks)
        return kept and self.lives(table).is_present(self.life)

    def check_followed(self, table: DeltaTable) -> None:
        """Raise if the lake follows another database, or has followed this one to another server."""
        known = table.transaction_version(f"lonnymq database {self.source}")
        if known not in (None, self.identity):
            raise OtherDatabase(
                f"the source {self.source} of this lake is another database. {OtherDatabase.__doc__}"
            )
        timeline = table.transaction_version(f"lonnymq timeline {self.source}")
        if self.timeline is None or timeline is None:
            return
        if self.timeline < timeline or self.lives(table).was_left(self.life):
            raise ServerReplaced(
                f"the lake has followed {self.source} to timeline {timeline}, and this server is on timeline "
                f"{self.timeline}. {ServerReplaced.__doc__}"
            )


def origin_at(
    url: str, *, schema: str = "lonnymq", source: str | None = None, adopt: bool = False
) -> Origin:
    """The queue at an address; its name is the database's, with the schema's if that is another than usual."""
    options = read_options({"url": url, "schema": schema_name(schema)}, "read")
    with open_connection(options, name=NAME) as connection:
        check_installed(connection, options, table="history_reader")
        return origin_over(connection, options, source, adopt=adopt)


def origin_over(
    connection: Connection[Any], options: Options, source: str | None, *, adopt: bool = False
) -> Origin:
    """The queue at the other end of a connection."""
    may_ask, user = connection.execute(MAY_ASK).fetchone() or (False, "")
    if not may_ask:
        raise IdentifierHidden(
            f"{user} may not ask which server this is. {IdentifierHidden.__doc__}"
        )
    row = connection.execute(WHICH, (f"{options.schema}.history",)).fetchone()
    database, system, oid, may_read, timeline = row or ("", 0, 0, False, None)
    usual = database if options.schema == "lonnymq" else f"{database}.{options.schema}"
    identity = number_of(f"{system} {oid} {options.schema}")
    name = source_name(usual if source is None else source)
    return Origin(options, name, identity, timeline, may_read, is_adopted=adopt)


def number_of(text: str) -> int:
    """A number that stands for a text; the table's log keeps numbers only."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big") >> 1


def queue_limit(origin: Origin) -> int | None:
    """How many messages of the whole queue may be worked on at once; None: there is no limit, or no right to know."""
    function = f"{origin.options.schema}.queue_options_now()"
    with open_connection(origin.options, name=NAME) as connection:
        row = connection.execute(
            "select has_function_privilege(%s, 'execute')", (function,)
        ).fetchone()
        if not (row and row[0]):
            return None
        row = connection.execute(f"select {function} ->> 'max_concurrency'").fetchone()
    return None if row is None or row[0] is None else int(row[0])


@dataclass(frozen=True)
class Turn:
    """A sync's turn: a transaction on one server, which ends with the server, the connection or the turn.

    Where a slice ends is asked in it, and the slice is confirmed in it: a server that took the place of another in
    between is never told that the lake has what that other one had.
    """

    connection: Connection[Any]
    queue: Queue
    origin: Origin

    def rest(self) -> None:
        """Let go of the snapshot: it is kept until the next statement, and this statement needs none."""
        self.connection.execute("set local idle_in_transaction_session_timeout = 0")


@contextmanager
def taking_turns(origin: Origin, reader: str, until: Event) -> Iterator[Turn | None]:
    """Keep out other syncs of the same source into the same lake; None: told to stop while waiting for one.

    The lock is that of a transaction, which a pooler keeps together. Until it confirms it has neither id nor
    snapshot: it holds nothing back.
    """
    with open_connection(origin.options, name=NAME) as connection:
        connection.isolation_level = IsolationLevel.READ_COMMITTED
        while True:
            with connection.transaction():
                if try_lock(connection, reader):
                    yield turn_over(connection, origin)
                    return
            if until.wait(LOOK_AGAIN):
                yield None
                return


def turn_over(connection: Connection[Any], origin: Origin) -> Turn:
    """The turn of a sync on the server that the connection has reached."""
    found = origin_over(connection, origin.options, origin.source)
    if found.timeline is None:
        raise Unreachable(
            f"the server of {origin.source} is a standby, and cannot be told what the lake has: "
            "sync the primary, or wait until the standby is promoted"
        )
    queue = Queue(connection, schema=origin.options.schema)
    turn = Turn(connection, queue, replace(found, is_adopted=origin.is_adopted))
    turn.rest()
    return turn


def try_lock(connection: Connection[Any], name: str) -> bool:
    """Whether the lock was free; it is held to the end of the transaction."""
    row = connection.execute(
        "select pg_try_advisory_xact_lock(hashtextextended(%s, 5))", (name,)
    ).fetchone()
    return bool(row and row[0])
