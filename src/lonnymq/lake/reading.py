"""Reads a lake's tables into DataFrames: delta-rs says which files are in them, Spark reads those."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, time
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql.types import StringType, StructField, StructType

from lonnymq.errors import InvalidArgument
from lonnymq.lake.columns import COLUMNS, row_schema
from lonnymq.lake.listing import listed
from lonnymq.lake.place import CHANNELS, HISTORY, Lake, lake_at
from lonnymq.lake.tables import table_at
from lonnymq.spark.read.schemas import spark_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Moment = datetime | date
# In whole numbers and without the session's zone: before 1970 too, a day begins at midnight in UTC.
MICROS, DAY = "unix_micros(finished_at)", "86400000000"
UTC_DAY = f"date_from_unix_date(cast(({MICROS} - pmod({MICROS}, {DAY})) div {DAY} as int))"
SOURCE = StructField("source", StringType(), True)
SPECIAL = re.compile(r"([\\{}\[\]*?])")  # which Spark would take for a pattern


def read_history(
    spark: SparkSession,
    lake: Lake | Path | str,
    begin: Moment | None = None,
    end: Moment | None = None,
    source: str | None = None,
    *,
    storage_options: Mapping[str, str] | None = None,
) -> DataFrame:
    """The attempts that finished from `begin` up to `end`, which is not included; of one source, or of all.

    A moment without a zone is in UTC, and so is a day. Files of other days and sources are not opened.
    """
    from pyspark.sql import functions as f

    first, last = instant(begin), instant(end)
    frame = read_files(spark, lake_at(lake, storage_options), HISTORY, source, first, last)
    frame = frame.withColumn("date", f.expr(UTC_DAY))
    if first is not None:
        frame = frame.where(f.col("finished_at") >= f.lit(first))
    if last is not None:
        frame = frame.where(f.col("finished_at") < f.lit(last))
    return frame.select(*row_schema(HISTORY).fieldNames())


def read_channels(
    spark: SparkSession,
    lake: Lake | Path | str,
    source: str | None = None,
    *,
    storage_options: Mapping[str, str] | None = None,
) -> DataFrame:
    """What channels were set to, and since when: a row for each change that a sync saw.

    The channel '' stands for all that have no row of their own.
    """
    frame = read_files(spark, lake_at(lake, storage_options), CHANNELS, source)
    return frame.select(*row_schema(CHANNELS).fieldNames())


def sources(
    lake: Lake | Path | str, *, storage_options: Mapping[str, str] | None = None
) -> list[str]:
    """The names of the databases whose history is in the lake."""
    table = table_at(lake_at(lake, storage_options), HISTORY)
    return sorted({each.source for each in listed(table)})


def read_files(
    spark: SparkSession,
    lake: Lake,
    name: str,
    source: str | None,
    first: datetime | None = None,
    last: datetime | None = None,
) -> DataFrame:
    """The rows of a source's files, or of all, with the source; nothing is guessed from paths."""
    from pyspark.sql import functions as f

    schema, root = spark_schema(COLUMNS[name]), SPECIAL.sub(r"\\\1", lake.table(name))
    paths: dict[str, list[str]] = {}
    for file in listed(table_at(lake, name)):
        if source in (None, file.source) and is_within(file.day, first, last):
            paths.setdefault(file.source, []).append(f"{root}/{file.path}")
    found = [
        spark.read.schema(schema).parquet(*files).withColumn("source", f.lit(each))
        for each, files in sorted(paths.items())
    ]
    if not found:
        return spark.createDataFrame([], StructType([*schema, SOURCE]))
    return reduce(lambda left, right: left.unionByName(right), found)


def is_within(day: date | None, first: datetime | None, last: datetime | None) -> bool:
    """Whether a day may have moments that are asked for."""
    if day is None:
        return True
    return (first is None or first.date() <= day) and (last is None or day <= last.date())


def instant(moment: Moment | None) -> datetime | None:
    """A moment in UTC; a day is its beginning."""
    if moment is None:
        return None
    if isinstance(moment, datetime):
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    if isinstance(moment, date):
        return datetime.combine(moment, time(), UTC)
    raise InvalidArgument(f"begin and end are moments or days, not {moment!r}")
