"""The database that a source is: which one, under which name, and up to where the lake has its history."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from threading import Event
from typing import TYPE_CHECKING, Any

from psycopg import Connection

from lonnymq.calls import schema_name
from lonnymq.lake.refusals import OtherDatabase
from lonnymq.lake.writing import source_name
from lonnymq.spark.connecting import check_installed, conninfo, open_connection
from lonnymq.spark.options import Options, read_options

if TYPE_CHECKING:
    from deltalake import DeltaTable

NAME = "lonnymq lake"
LOOK_AGAIN = 0.2  # seconds between two looks whether another sync has ended
WHICH = """
    select current_database(), (select system_identifier from pg_control_system()),
      (select d.oid from pg_database d where d.datname = current_database()),
      has_table_privilege(%s, 'select')
"""


@dataclass(frozen=True)
class Origin:
    """A queue as a source of the lake; shows no address, which may hold a password.

    If it is adopted, somebody says that it is the source's database, whatever the lake knows of that.
    """

    options: Options
    source: str
    identity: int
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
    def mark(self) -> tuple[str, int]:
        """What the table's log knows the database itself by."""
        return f"lonnymq database {self.source}", self.identity

    def reader(self, table: DeltaTable) -> str:
        """What PostgreSQL knows the lake by: it stays when the lake is moved."""
        return f"lake {table.metadata().id} {self.source}"

    def reached(self, table: DeltaTable) -> int | None:
        """Up to which transaction the table has the source's history; None: it has nothing of it."""
        name, identity = self.mark
        found = table.transaction_version(name)
        if found not in (None, identity) and not self.is_adopted:
            raise OtherDatabase(
                f"the source {self.source} of this lake is another database. {OtherDatabase.__doc__}"
            )
        return table.transaction_version(self.app)


def origin_at(
    url: str, *, schema: str = "lonnymq", source: str | None = None, adopt: bool = False
) -> Origin:
    """The queue at an address; its name is the database's, with the schema's if that is another than usual."""
    options = read_options({"url": url, "schema": schema_name(schema)}, "read")
    with open_connection(options, name=NAME) as connection:
        check_installed(connection, options, table="history_reader")
        row = connection.execute(WHICH, (f"{options.schema}.history",)).fetchone()
    database, system, oid, may_read = row or ("", 0, 0, False)
    usual = database if options.schema == "lonnymq" else f"{database}.{options.schema}"
    known = f"{system} {oid} {options.schema}".encode()
    identity = int.from_bytes(blake2b(known, digest_size=8).digest(), "big") >> 1
    name = source_name(usual if source is None else source)
    return Origin(options, name, identity, may_read, is_adopted=adopt)


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


@contextmanager
def taking_turns(origin: Origin, reader: str, until: Event) -> Iterator[bool]:
    """Keep out other syncs of the same source into the same lake; False: told to stop while waiting for one.

    The lock is that of a transaction, which a pooler keeps together. It has neither id nor snapshot: it holds
    nothing back.
    """
    with open_connection(origin.options, name=NAME) as connection:
        while True:
            with connection.transaction():
                if try_lock(connection, reader):
                    yield True
                    return
            if until.wait(LOOK_AGAIN):
                yield False
                return


def try_lock(connection: Connection[Any], name: str) -> bool:
    """Whether the lock was free; it is held to the end of the transaction."""
    row = connection.execute(
        "select pg_try_advisory_xact_lock(hashtextextended(%s, 5))", (name,)
    ).fetchone()
    # A query's snapshot is kept until the next statement: this one needs none, and lets the lock be kept in peace.
    connection.execute("set local idle_in_transaction_session_timeout = 0")
    return bool(row and row[0])
