"""Reads a query's rows from PostgreSQL as Arrow batches, through ADBC, on an executor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import adbc_driver_postgresql.dbapi
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext

from lonnymq.spark.connecting import Unreachable
from lonnymq.spark.schemas import INSTANT, Column, arrow_schema

BATCH_ROWS = 50_000  # the driver hands over 16 MiB at once: Spark copes better with less


# What a Python worker of Spark's has open between two tasks, by address: to open a connection, of which ADBC asks for
# all types that there are, takes as long as to read ten thousand rows.
kept: dict[str, Any] = {}
BEGIN = "begin isolation level repeatable read read only"


@contextmanager
def reading(address: str, *, keep: bool = False) -> Iterator[Any]:
    """A cursor in a repeatable read transaction; what it reads is Arrow.

    With `keep` the connection stays open for the next task, if this is one.
    """
    connection = begun(kept.pop(address)) if address in kept else None
    if connection is None:
        connection = opened(address)
        begin(connection)
    try:
        with connection.cursor() as cursor:
            yield cursor
            cursor.execute("commit")
    except BaseException:
        connection.close()
        raise
    if keep and TaskContext.get() is not None:
        kept[address] = connection
    else:
        connection.close()


def opened(address: str) -> Any:
    """A connection of ADBC's."""
    try:
        return adbc_driver_postgresql.dbapi.connect(address, autocommit=True)
    except adbc_driver_postgresql.dbapi.Error as error:
        raise Unreachable(f"the database cannot be reached: {error}") from None


def begin(connection: Any) -> None:
    """Begin the transaction."""
    with connection.cursor() as cursor:
        cursor.execute(BEGIN)


def begun(connection: Any) -> Any:
    """A connection that was kept, with its transaction begun; None: it has broken meanwhile."""
    try:
        begin(connection)
    except adbc_driver_postgresql.dbapi.Error:
        connection.close()
        return None
    return connection


def batches(cursor: Any, query: str, columns: Sequence[Column]) -> Iterator[pa.RecordBatch]:
    """The rows of a query as batches of these columns, to the letter."""
    cursor.execute(query)
    schema = arrow_schema(tuple(columns))
    for found in cursor.fetch_record_batch():
        for start in range(0, found.num_rows, BATCH_ROWS):
            yield shaped(found.slice(start, BATCH_ROWS), schema)


def shaped(found: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The batch with the types that Spark was promised; milliseconds become instants."""
    arrays = [shaped_column(found.column(at), field.type) for at, field in enumerate(schema)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def shaped_column(found: pa.Array, wanted: pa.DataType) -> pa.Array:
    """One column with the type that is wanted."""
    if wanted == INSTANT:
        return pc.multiply(found, 1000).view(INSTANT)
    return found if found.type == wanted else found.cast(wanted)


def select(columns: Sequence[Column], source: str, conditions: Sequence[str] = ()) -> str:
    """A query for these columns of a relation that is called r."""
    listed = ", ".join(f"{column.sql} as {column.name}" for column in columns) or "1 as one"
    where = f" where {' and '.join(conditions)}" if conditions else ""
    return f"select {listed} from {source} r{where}"  # noqa: S608 (columns and conditions are ours)
