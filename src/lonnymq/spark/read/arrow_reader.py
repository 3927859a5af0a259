"""Reads a query's rows from PostgreSQL as Arrow batches, through ADBC, on an executor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa
from pyspark import TaskContext

from lonnymq.errors import Unreachable
from lonnymq.spark.gc import rest
from lonnymq.spark.read.adbc import Connection, Error
from lonnymq.spark.read.schemas import INSTANT, Column, arrow_schema

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


def select(columns: Sequence[Column], source: str, conditions: Sequence[str] = ()) -> str:
    """A query for these columns of a relation that is called r; instants are had in microseconds."""
    listed = ", ".join(f"{sql_of(column)} as {column.name}" for column in columns) or "1 as one"
    where = f" where {' and '.join(conditions)}" if conditions else ""
    return f"select {listed} from {source} r{where}"  # noqa: S608 (columns and conditions are ours)


def sql_of(column: Column) -> str:
    """The SQL of a column as it is read."""
    return f"{column.sql} * 1000" if column.type == "instant" else column.sql
