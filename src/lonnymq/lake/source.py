"""The database behind a source: its identity, its name in the lake, its servers, and how far the lake has its history.

A failover, a restored backup or dump, or an upgrade moves a database to another server. Below the position at which the
lake left a server, lake and server have the same rows. Above that position the lake has rows of another server. A lake
that returns to a server rewinds to that position first. The table's log records the servers.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import blake2b
from threading import Event
from typing import TYPE_CHECKING, Any

from psycopg import Connection, IsolationLevel
from psycopg.errors import InsufficientPrivilege

from lonnymq.client import Queue, calls
from lonnymq.client.adapters import run_using
from lonnymq.client.call import schema_name
from lonnymq.errors import Unreachable
from lonnymq.lake.errors import IdentifierHidden, ServerReplaced, WrongDatabase
from lonnymq.lake.location import check_source_name
from lonnymq.spark.connection import check_installed, conninfo, open_connection
from lonnymq.spark.options import Options, read_options

if TYPE_CHECKING:
    from deltalake import DeltaTable

APPLICATION_NAME = "lonnymq lake"
LOCK_RETRY_SECONDS = 0.2  # seconds between two looks whether another sync has ended
CHECK_PRIVILEGE = (
    "select has_function_privilege('pg_control_system()', 'execute'), current_user::text"
)
# The first part of a WAL file's name is the timeline. A standby has none of its own.
READ_IDENTITY = """
    select current_database(), (select system_identifier from pg_control_system()),
      (select d.oid from pg_database d where d.datname = current_database()),
      has_table_privilege(%s, 'select'),
      case when not pg_is_in_recovery() then
        ('x' || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8))::bit(32)::integer end
"""
NOT_LEFT = 2**63 - 1
LogEntry = tuple[str, int]


@dataclass(frozen=True)
class SourceDatabase:
    """The database of a source; its repr hides the address, which may hold a password.

    `is_adopted`: the user confirms that this is the source's database, whatever the lake recorded.
    """

    options: Options
    source: str
    identity: int
    timeline: int | None
    may_read_table: bool
    is_adopted: bool = False

    @property
    def address(self) -> str:
        """The connection string for tasks."""
        return conninfo(self.options, name=APPLICATION_NAME)

    @property
    def progress_key(self) -> str:
        """The key of the source's progress in the table's log."""
        return f"lonnymq history {self.source}"

    @property
    def server_id(self) -> int:
        """The hashed identity of the database on this server."""
        return hash_to_int(f"{self.identity} {self.timeline}")

    @property
    def log_entries(self) -> tuple[LogEntry, ...]:
        """The log entries that identify the database."""
        known = [(f"lonnymq database {self.source}", self.identity)]
        if self.timeline is not None:
            known.append((f"lonnymq timeline {self.source}", self.timeline))
        return tuple(known)

    def reader(self, table: DeltaTable) -> str:
        """The name under which PostgreSQL knows the lake. A moved lake keeps its name."""
        return f"lake {table.metadata().id} {self.source}"

    def server_history(self, table: DeltaTable) -> ServerHistory:
        """The servers that the source has run on."""
        return read_server_history(table, self.source)

    def synced_position(self, table: DeltaTable) -> int | None:
        """The position up to which the table has the source's history; None if the table has nothing.

        Raises if the database is not the one that the lake follows, unless it is adopted.
        """
        if not self.is_adopted:
            self.check_identity(table)
        return table.transaction_version(self.progress_key)

    def is_recorded(self, table: DeltaTable) -> bool:
        """Whether the table's log records that the lake follows the database on this server."""
        kept = all(table.transaction_version(name) == value for name, value in self.log_entries)
        return kept and self.server_history(table).is_current(self.server_id)

    def check_identity(self, table: DeltaTable) -> None:
        """Raise if the lake follows another database, or has followed this one to another server."""
        known = table.transaction_version(f"lonnymq database {self.source}")
        if known not in (None, self.identity):
            raise WrongDatabase(
                f"the source {self.source} of this lake is another database. {WrongDatabase.__doc__}"
            )
        timeline = table.transaction_version(f"lonnymq timeline {self.source}")
        if self.timeline is None or timeline is None:
            return
        if self.timeline < timeline or self.server_history(table).was_left(self.server_id):
            raise ServerReplaced(
                f"the lake has followed {self.source} to timeline {timeline}, and this server is on timeline "
                f"{self.timeline}. {ServerReplaced.__doc__}"
            )


def identify_source(
    url: str, *, schema: str = "lonnymq", source: str | None = None, adopt: bool = False
) -> SourceDatabase:
    """The source at an address; its default name is the database's, with the schema unless that is lonnymq."""
    options = read_options({"url": url, "schema": schema_name(schema)}, "read")
    with open_connection(options, name=APPLICATION_NAME) as connection:
        check_installed(connection, options, table="history_reader")
        return read_identity(connection, options, source, adopt=adopt)


def read_identity(
    connection: Connection[Any], options: Options, source: str | None, *, adopt: bool = False
) -> SourceDatabase:
    """The source at the other end of a connection."""
    may_ask, user = connection.execute(CHECK_PRIVILEGE).fetchone() or (False, "")
    if not may_ask:
        raise IdentifierHidden(
            f"the user {user} may not read the identifier of the server. {IdentifierHidden.__doc__}"
        )
    row = connection.execute(READ_IDENTITY, (f"{options.schema}.history",)).fetchone()
    own_name, system, oid, may_read, timeline = row or ("", 0, 0, False, None)
    usual = own_name if options.schema == "lonnymq" else f"{own_name}.{options.schema}"
    identity = hash_to_int(f"{system} {oid} {options.schema}")
    name = check_source_name(usual if source is None else source)
    return SourceDatabase(options, name, identity, timeline, may_read, is_adopted=adopt)


def hash_to_int(text: str) -> int:
    """A hash of a text; the table's log keeps only integers."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big") >> 1


def fetch_queue_limit(database: SourceDatabase) -> int | None:
    """The queue's max_concurrency; None without a limit, or without the privilege to read it."""
    call = calls.queue_options_now(database.options.schema)
    with open_connection(database.options, name=APPLICATION_NAME) as connection:
        try:
            limit: int | None = run_using(connection, call)["max_concurrency"]
        except InsufficientPrivilege:
            return None
    return limit


@dataclass(frozen=True)
class SyncTransaction:
    """The transaction in which a batch is cut and confirmed.

    Both happen on the same server: a server that replaces another in between never receives the confirmation.
    """

    connection: Connection[Any]
    queue: Queue
    database: SourceDatabase

    def release_snapshot(self) -> None:
        """Release the snapshot, which is held until the next statement: this statement needs none."""
        self.connection.execute("set local idle_in_transaction_session_timeout = 0")


@contextmanager
def lock_source(
    database: SourceDatabase, reader: str, until: Event
) -> Iterator[SyncTransaction | None]:
    """Lock out other syncs of the same source into the same lake; None if asked to stop while waiting.

    The lock belongs to a transaction, which a pooler keeps on one connection. Before the confirmation the transaction
    has neither id nor snapshot: vacuum is not held back.
    """
    with open_connection(database.options, name=APPLICATION_NAME) as connection:
        connection.isolation_level = IsolationLevel.READ_COMMITTED
        while True:
            with connection.transaction():
                if try_lock(connection, reader):
                    yield start_transaction(connection, database)
                    return
            if until.wait(LOCK_RETRY_SECONDS):
                yield None
                return


def start_transaction(connection: Connection[Any], database: SourceDatabase) -> SyncTransaction:
    """Start the transaction on the server at the other end of the connection."""
    found = read_identity(connection, database.options, database.source)
    if found.timeline is None:
        raise Unreachable(
            f"the server of {database.source} is a standby, which cannot store the progress of the lake: "
            "sync the primary, or wait until the standby is promoted"
        )
    queue = Queue(connection, schema=database.options.schema)
    transaction = SyncTransaction(connection, queue, replace(found, is_adopted=database.is_adopted))
    transaction.release_snapshot()
    return transaction


def try_lock(connection: Connection[Any], name: str) -> bool:
    """Take the lock until the end of the transaction, if the lock is free."""
    row = connection.execute(
        "select pg_try_advisory_xact_lock(hashtextextended(%s, 5))", (name,)
    ).fetchone()
    return bool(row and row[0])


@dataclass(frozen=True, slots=True)
class KnownServer:
    """A server by its hashed identity, and the position at which the lake left the server."""

    server_id: int
    left_at: int = NOT_LEFT


@dataclass(frozen=True, slots=True)
class ServerHistory:
    """The servers of a source, oldest first. The current server was not left."""

    source: str
    servers: tuple[KnownServer, ...] = ()

    def was_left(self, server_id: int) -> bool:
        """Whether the lake followed this server and then moved to another."""
        return self.left_at(server_id) < NOT_LEFT

    def left_at(self, server_id: int) -> int:
        """The position up to which lake and server have the same rows."""
        return next(
            (each.left_at for each in self.servers if each.server_id == server_id), NOT_LEFT
        )

    def is_current(self, server_id: int) -> bool:
        """Whether the lake follows this server. A lake without recorded servers follows any."""
        return not self.servers or KnownServer(server_id) in self.servers

    def moved_to(self, server_id: int, since: int) -> ServerHistory:
        """The history after a rewind to `since` and a move to this server."""
        others = (
            KnownServer(each.server_id, min(each.left_at, since))
            for each in self.servers
            if each.server_id != server_id
        )
        return ServerHistory(self.source, (*others, KnownServer(server_id)))

    def log_entries(self) -> tuple[LogEntry, ...]:
        """The log entries that record the servers."""
        kept: list[LogEntry] = [(f"lonnymq servers {self.source}", len(self.servers))]
        for number, each in enumerate(self.servers):
            kept.append((f"lonnymq server {self.source} {number}", each.server_id))
            kept.append((f"lonnymq left {self.source} {number}", each.left_at))
        return tuple(kept)


@dataclass(frozen=True, slots=True)
class Rewinds:
    """How often the lake rewound a source, and the position of the last rewind: rows from there on changed."""

    count: int | None = None  # None: never
    since: int = NOT_LEFT

    def next_entries(self, source: str, since: int) -> tuple[LogEntry, ...]:
        """The log entries of one more rewind."""
        return (rewind_count_key(source), (self.count or 0) + 1), (
            f"lonnymq rewound {source}",
            since,
        )


def rewind_count_key(source: str) -> str:
    """The key of the log entry that counts rewinds."""
    return f"lonnymq rewinds {source}"


def read_rewinds(table: DeltaTable, source: str) -> Rewinds:
    """The rewinds that a table's log records."""
    count = table.transaction_version(rewind_count_key(source))
    since = table.transaction_version(f"lonnymq rewound {source}")
    return Rewinds(count, NOT_LEFT if since is None else since)


def read_server_history(table: DeltaTable, source: str) -> ServerHistory:
    """The servers that a table's log records."""
    count = table.transaction_version(f"lonnymq servers {source}") or 0
    found = tuple(
        KnownServer(
            table.transaction_version(f"lonnymq server {source} {number}") or 0,
            table.transaction_version(f"lonnymq left {source} {number}") or 0,
        )
        for number in range(count)
    )
    return ServerHistory(source, found)
