"""The columns of `messages`, `history` and `channels`, in SQL, in Arrow and in Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from lonnymq.errors import InvalidArgument
from lonnymq.spark.options import Options, read_options

INSTANT = pa.timestamp("us", tz="UTC")
# Our name of a type, the type in Spark, and the exact type that Arrow batches must have.
TYPES: dict[str, tuple[DataType, pa.DataType]] = {
    "text": (StringType(), pa.string()),
    "long": (LongType(), pa.int64()),
    "integer": (IntegerType(), pa.int32()),
    "double": (DoubleType(), pa.float64()),
    "boolean": (BooleanType(), pa.bool_()),
    "bytes": (BinaryType(), pa.binary()),
    "instant": (TimestampType(), INSTANT),
    "longs": (ArrayType(LongType()), pa.list_(pa.field("element", pa.int64()))),
}


@dataclass(frozen=True, slots=True)
class Column:
    """A column: name, type and SQL expression. An instant is epoch milliseconds in SQL and a timestamp in Arrow."""

    name: str
    type: str
    sql: str

    @property
    def spark(self) -> StructField:
        """The column in a Spark schema."""
        return StructField(self.name, TYPES[self.type][0], True)

    @property
    def arrow(self) -> pa.DataType:
        """The type of the column's Arrow batches."""
        return TYPES[self.type][1]


def columns(alias: str, **types: str) -> tuple[Column, ...]:
    """Columns with the names of the table's columns. JSON is read as text and transaction ids as numbers."""
    casts = {"json": ("text", "::text"), "xid": ("long", "::text::bigint")}
    found = []
    for name, kind in types.items():
        shown, cast = casts.get(kind, (kind, ""))
        found.append(Column(name, shown, f"{alias}.{name}{cast}"))
    return tuple(found)


# dequeue_at is a rank as well as a time, and may be any number: it stays epoch milliseconds.
MESSAGES = (
    *columns("r", id="long", channel="text", kind="text", key="text", dequeue_at="long"),
    *columns("r", created_at="instant", attempt="integer"),
    Column("leased", "boolean", "(r.token is not null)"),
    *columns("r", dequeued_at="instant", lease_until="instant", worker="text", headers="json"),
    *columns("r", error="text", state="bytes", content="bytes"),
)
HISTORY = (
    *columns("r", xid="xid", message_id="long", channel="text", kind="text", key="text"),
    *columns("r", attempt="integer", outcome="text", worker="text", dequeue_at="long"),
    *columns("r", created_at="instant", dequeued_at="instant", finished_at="instant"),
    *columns("r", size="long", error="text", headers="json", content="bytes"),
)
CHANNELS = (
    *columns("r", channel="text", state="text", waiting="long", scheduled="long", leased="long"),
    *columns("r", dead="long", oldest_at="long", next_at="long", in_flight="long", size="long"),
    *columns("r", counted_exactly="boolean", max_concurrency="integer"),
    *columns("r", min_interval_ms="long", burst="integer", max_size="long", when_full="text"),
    *columns("r", weight="integer", max_attempts="integer"),
    *columns("r", retry_delays_ms="longs", retry_jitter="double", paused="boolean"),
    *columns("r", retiring="boolean"),
)
TABLES = {"messages": MESSAGES, "history": HISTORY, "channels": CHANNELS}


def spark_schema(found: tuple[Column, ...]) -> StructType:
    """The Spark schema of columns."""
    return StructType([column.spark for column in found])


def arrow_schema(found: tuple[Column, ...]) -> pa.Schema:
    """The Arrow schema of columns."""
    return pa.schema([pa.field(column.name, column.arrow) for column in found])


def all_columns(options: Options) -> tuple[Column, ...]:
    """All columns of the table in the options, except the content if the options exclude it."""
    if options.table is None:
        raise InvalidArgument(
            f'choose a table to read, such as .load("messages"): the tables are {", ".join(TABLES)}'
        )
    found = TABLES[options.table]
    kept = options["includeContent"]
    return tuple(column for column in found if kept or column.name not in ("content", "state"))


def select_columns(
    found: tuple[Column, ...], schema: StructType, *, table: str | None
) -> tuple[Column, ...]:
    """The columns that a schema names, in its order. Raises for an unknown column or another type."""
    known = {column.name: column for column in found}
    for field in schema.fields:
        if field.name not in known:
            raise InvalidArgument(
                f"{table} has no column {field.name}: the columns are {', '.join(known)}"
            )
        wanted = known[field.name].spark.dataType
        if field.dataType != wanted:
            raise InvalidArgument(
                f"the column {field.name} of {table} is {wanted.simpleString()}, "
                f"not {field.dataType.simpleString()}"
            )
    return tuple(known[field.name] for field in schema.fields)


def default_schema(given: Mapping[str, str]) -> StructType:
    """The columns of a read without a schema from the user."""
    return spark_schema(all_columns(read_options(given, "read", "stream read")))
