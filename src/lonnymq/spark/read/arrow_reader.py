"""Reads rows from PostgreSQL as Arrow batches through ADBC, on executors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import adbc_driver_postgresql
import pyarrow as pa
from adbc_driver_manager import AdbcConnection, AdbcStatement, Error
from pyspark import TaskContext

from lonnymq.errors import Unreachable
from lonnymq.spark.gc import rest
from lonnymq.spark.read.schemas import INSTANT, Column, arrow_schema

__all__ = ["Connection", "Error"]


class Connection:
    """A connection that commits by itself, and the one statement that it has under way."""

    def __init__(self, address: str) -> None:
        self.statement: Any = None
        self.rows: pa.RecordBatchReader | None = None
        self.database: Any = adbc_driver_postgresql.connect(address)
        try:
            self.connection: Any = AdbcConnection(self.database)
        except BaseException:
            self.database.close()
            raise

    def begin(self) -> None:
        """Begin a transaction; raises if the server is gone.

        A statement on a connection that is gone would end this process: drivers below 1.9 build a text of nothing. So
        what may have broken meanwhile is asked by this call, and by `commit`, which tell of it.
        """
        self.clear()
        self.connection.set_autocommit(False)

    def commit(self) -> None:
        """End the transaction."""
        self.clear()
        self.connection.set_autocommit(True)

    def execute(self, statement: str) -> pa.RecordBatchReader:
        """Run a statement; what it gives is read before the next one is run."""
        self.clear()
        self.statement = AdbcStatement(self.connection)
        self.statement.set_sql_query(statement)
        handle, _ = self.statement.execute_query()
        self.rows = pa.RecordBatchReader.from_stream(handle)
        return self.rows

    def clear(self) -> None:
        """Let go of the statement and of what is left of its rows."""
        rows, statement = self.rows, self.statement
        self.rows = self.statement = None
        if rows is not None:
            rows.close()
        if statement is not None:
            statement.close()

    def close(self) -> None:
        """Let go of the connection."""
        self.clear()
        self.connection.close()
        self.database.close()


BATCH_ROWS = 50_000  # the driver hands over 16 MiB at once: Spark copes better with less


# What a Python worker of Spark's has open between two tasks, by address: to open a connection, of which ADBC asks for
# all types that there are, takes as long as to read ten thousand rows.
kept: dict[str, Connection] = {}
ONE_STATE = "set transaction isolation level repeatable read, read only"


@contextmanager
def reading(address: str, *, keep: bool = False) -> Iterator[Connection]:
    """A connection in a repeatable read transaction; what it reads is Arrow.

    With `keep` the connection stays open for the next task, if this is one.
    """
    rest()
    connection = begun(kept.pop(address)) if address in kept else None
    if connection is None:
        connection = fresh(address)
    try:
        yield connection
        connection.commit()
    except BaseException:
        connection.close()
        raise
    if keep and TaskContext.get() is not None:
        kept[address] = connection
    else:
        connection.close()


def fresh(address: str) -> Connection:
    """A new connection, with its transaction begun."""
    connection = opened(address)
    try:
        begin(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def opened(address: str) -> Connection:
    """A connection of ADBC's."""
    try:
        return Connection(address)
    except Error as error:
        raise Unreachable(f"the database cannot be reached: {error}") from None


def begun(connection: Connection) -> Connection | None:
    """A connection that was kept, with its transaction begun; None: it has broken meanwhile."""
    try:
        begin(connection)
    except Error:
        connection.close()
        return None
    return connection


def begin(connection: Connection) -> None:
    """Begin a transaction that sees one state."""
    connection.begin()
    connection.execute(ONE_STATE)


def batches(
    connection: Connection, query: str, columns: Sequence[Column]
) -> Iterator[pa.RecordBatch]:
    """The rows of a query as batches of these columns, to the letter."""
    schema = arrow_schema(tuple(columns))
    for found in connection.execute(query):
        for start in range(0, found.num_rows, BATCH_ROWS):
            yield shaped(found.slice(start, BATCH_ROWS), schema)


def shaped(found: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The batch with the types that Spark was promised."""
    arrays = [shaped_column(found.column(at), field.type) for at, field in enumerate(schema)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def shaped_column(found: pa.Array, wanted: pa.DataType) -> pa.Array:
    """One column with the type that is wanted."""
    if wanted == INSTANT:
        return found.view(INSTANT)
    return found if found.type == wanted else found.cast(wanted)
