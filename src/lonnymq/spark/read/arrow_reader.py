"""Reads rows from PostgreSQL as Arrow batches through ADBC, on executors.

The DB-API of ADBC is not used: it imports pandas, which costs each Python worker of Spark a third of a second.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import adbc_driver_postgresql
import pyarrow as pa
from adbc_driver_manager import AdbcConnection, AdbcStatement, Error
from pyspark import TaskContext

from lonnymq.errors import Unreachable
from lonnymq.spark.read.schemas import INSTANT, Column, arrow_schema
from lonnymq.spark.spark_process import freeze_imports

__all__ = ["ArrowConnection", "Error", "read_batches", "read_transaction"]

BATCH_ROWS = 50_000  # the driver hands over 16 MiB at once: Spark copes better with less
REPEATABLE_READ = "set transaction isolation level repeatable read, read only"


class ArrowConnection:
    """An ADBC connection with at most one open statement, whose rows are Arrow."""

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
        """Begin a transaction; raises if the server has closed the connection.

        A statement on a closed connection would end this process: drivers below 1.9 build a text from a null pointer.
        This call and `commit` raise instead, so they come before every statement on a connection that was idle.
        """
        self.clear()
        self.connection.set_autocommit(False)

    def commit(self) -> None:
        """End the transaction."""
        self.clear()
        self.connection.set_autocommit(True)

    def execute(self, statement: str) -> pa.RecordBatchReader:
        """Run a statement. Read its rows before you run the next statement."""
        self.clear()
        self.statement = AdbcStatement(self.connection)
        self.statement.set_sql_query(statement)
        handle, _ = self.statement.execute_query()
        self.rows = pa.RecordBatchReader.from_stream(handle)
        return self.rows

    def clear(self) -> None:
        """Close the statement and the rest of its rows."""
        rows, statement = self.rows, self.statement
        self.rows = self.statement = None
        if rows is not None:
            rows.close()
        if statement is not None:
            statement.close()

    def close(self) -> None:
        """Close the connection."""
        self.clear()
        self.connection.close()
        self.database.close()


# Connections that a Python worker of Spark keeps open between tasks, by address: ADBC asks for all types of the
# database when it connects, which takes as long as reading ten thousand rows.
idle_connections: dict[str, ArrowConnection] = {}


@contextmanager
def read_transaction(address: str, *, keep: bool = False) -> Iterator[ArrowConnection]:
    """A connection in a repeatable read transaction. With `keep` it stays open for the next task of this process."""
    freeze_imports()
    connection = reuse_connection(address) or begin_connection(address)
    try:
        yield connection
        connection.commit()
    except BaseException:
        connection.close()
        raise
    if keep and TaskContext.get() is not None:
        idle_connections[address] = connection
    else:
        connection.close()


def reuse_connection(address: str) -> ArrowConnection | None:
    """An idle connection in a new transaction; None: there is none, or the server has closed it."""
    if address not in idle_connections:
        return None
    connection = idle_connections.pop(address)
    try:
        begin_transaction(connection)
    except Error:
        connection.close()
        return None
    return connection


def begin_connection(address: str) -> ArrowConnection:
    """A new connection in a new transaction."""
    connection = open_arrow_connection(address)
    try:
        begin_transaction(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def open_arrow_connection(address: str) -> ArrowConnection:
    """A new connection."""
    try:
        return ArrowConnection(address)
    except Error as error:
        raise Unreachable(f"the database cannot be reached: {error}") from None


def begin_transaction(connection: ArrowConnection) -> None:
    """Begin a transaction whose statements all see the same state."""
    connection.begin()
    connection.execute(REPEATABLE_READ)


def read_batches(
    connection: ArrowConnection, query: str, columns: Sequence[Column]
) -> Iterator[pa.RecordBatch]:
    """The rows of a query as batches with exactly the types of these columns."""
    schema = arrow_schema(tuple(columns))
    for found in connection.execute(query):
        for start in range(0, found.num_rows, BATCH_ROWS):
            yield cast_batch(found.slice(start, BATCH_ROWS), schema)


def cast_batch(found: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The batch with the types of a schema."""
    arrays = [cast_column(found.column(at), field.type) for at, field in enumerate(schema)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def cast_column(found: pa.Array, wanted: pa.DataType) -> pa.Array:
    """The column with another type."""
    if wanted == INSTANT:
        return found.view(INSTANT)
    return found if found.type == wanted else found.cast(wanted)
