"""The columns of a lake's tables: in SQL, in Arrow, in Spark, and in Delta."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.types import DateType, StringType, StructField, StructType

from lonnymq.lake.place import CHANNELS, HISTORY
from lonnymq.spark.read import schemas
from lonnymq.spark.read.schemas import Column, arrow_schema, columns, spark_schema

if TYPE_CHECKING:
    from deltalake import Schema

# What the files hold. What the rows are parted by stands in the table's log, and is not in the files.
OF_HISTORY: tuple[Column, ...] = schemas.HISTORY
OF_CHANNELS: tuple[Column, ...] = (
    *columns("r", channel="text", taken_at="instant", max_concurrency="integer"),
    *columns("r", release_interval_ms="long", burst="integer", max_size="long", when_full="text"),
    *columns("r", weight="integer", max_attempts="integer", paused="boolean"),
    # Of the whole queue: it stands in the row of the defaults.
    *columns("r", queue_max_concurrency="integer"),
)
COLUMNS = {HISTORY: OF_HISTORY, CHANNELS: OF_CHANNELS}
PARTED_BY = {HISTORY: ["source", "date"], CHANNELS: ["source"]}
PARTING = {"source": (StringType(), pa.string()), "date": (DateType(), pa.date32())}


def row_schema(name: str) -> StructType:
    """What a read of a table gives: the columns of its files, and what they are parted by."""
    added = [StructField(each, PARTING[each][0], True) for each in PARTED_BY[name]]
    return StructType([*spark_schema(COLUMNS[name]).fields, *added])


def table_schema(name: str) -> Schema:
    """A table's schema in Delta."""
    from deltalake import Schema

    added = [pa.field(each, PARTING[each][1]) for each in PARTED_BY[name]]
    return Schema.from_arrow(pa.schema([*arrow_schema(COLUMNS[name]), *added]))
