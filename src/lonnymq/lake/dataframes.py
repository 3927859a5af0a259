"""DataFrames of a lake: delta-rs lists and commits the files, Spark reads and writes them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, time
from functools import partial, reduce
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql.types import StringType, StructField, StructType

from lonnymq.errors import InvalidArgument
from lonnymq.lake.commit import SyncStep, commit_files
from lonnymq.lake.export import WRITTEN_DDL, WrittenFile, write_task
from lonnymq.lake.location import CHANNELS, HISTORY, Lake, check_source_name, resolve_lake
from lonnymq.lake.tables import (
    HISTORY_COLUMNS,
    TABLE_COLUMNS,
    ensure_table,
    list_files,
    open_table,
    read_schema,
)
from lonnymq.spark.read.schemas import arrow_schema, spark_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession

    from lonnymq.lake.tables import DataFile

TimeOrDay = datetime | date
# In whole numbers and without the session's zone: before 1970 too, a day begins at midnight in UTC.
MICROS, DAY = "unix_micros(finished_at)", "86400000000"
UTC_DAY = f"date_from_unix_date(cast(({MICROS} - pmod({MICROS}, {DAY})) div {DAY} as int))"
SOURCE_FIELD = StructField("source", StringType(), True)
REQUIRED_COLUMNS = ("channel", "outcome", "finished_at")
GLOB_CHARACTERS = re.compile(r"([\\{}\[\]*?])")  # which Spark would take for a pattern


def read_history(
    spark: SparkSession,
    lake: Lake | Path | str,
    begin: TimeOrDay | None = None,
    end: TimeOrDay | None = None,
    source: str | None = None,
    *,
    storage_options: Mapping[str, str] | None = None,
) -> DataFrame:
    """The attempts that finished from `begin` up to `end` (exclusive), of one source or of all.

    A moment without a zone is in UTC, and so is a day. Files of other days and sources are not opened.
    """
    from pyspark.sql import functions as f

    first, last = to_utc(begin), to_utc(end)
    frame = read_table(spark, resolve_lake(lake, storage_options), HISTORY, source, first, last)
    frame = frame.withColumn("date", f.expr(UTC_DAY))
    if first is not None:
        frame = frame.where(f.col("finished_at") >= f.lit(first))
    if last is not None:
        frame = frame.where(f.col("finished_at") < f.lit(last))
    return frame.select(*read_schema(HISTORY).fieldNames())


def read_channels(
    spark: SparkSession,
    lake: Lake | Path | str,
    source: str | None = None,
    *,
    storage_options: Mapping[str, str] | None = None,
) -> DataFrame:
    """Channel settings over time: a row for each change that a sync saw.

    The channel '' stands for all that have no row of their own.
    """
    frame = read_table(spark, resolve_lake(lake, storage_options), CHANNELS, source)
    return frame.select(*read_schema(CHANNELS).fieldNames())


def list_sources(
    lake: Lake | Path | str, *, storage_options: Mapping[str, str] | None = None
) -> list[str]:
    """The names of the sources in the lake."""
    table = open_table(resolve_lake(lake, storage_options), HISTORY)
    return sorted({each.source for each in list_files(table)})


def read_table(
    spark: SparkSession,
    lake: Lake,
    name: str,
    source: str | None,
    first: datetime | None = None,
    last: datetime | None = None,
) -> DataFrame:
    """The rows of a source, or of all."""
    schema, table = spark_schema(TABLE_COLUMNS[name]), open_table(lake, name)
    files = list_files(table, source, first and first.date(), last and last.date())
    found = read_files(spark.read.schema(schema), lake.table(name), files)
    if found is None:
        return spark.createDataFrame([], StructType([*schema, SOURCE_FIELD]))
    return found


def read_files(reader: DataFrameReader, root: str, files: Iterable[DataFile]) -> DataFrame | None:
    """The rows of files, with the source from the table's log; None without files."""
    from pyspark.sql import functions as f

    paths: dict[str, list[str]] = {}
    for file in files:
        path = GLOB_CHARACTERS.sub(r"\\\1", f"{root}/{file.path}")
        paths.setdefault(file.source, []).append(path)
    found = (
        reader.parquet(*own).withColumn("source", f.lit(each))
        for each, own in sorted(paths.items())
    )
    return reduce(lambda left, right: left.unionByName(right), found) if paths else None


def to_utc(moment: TimeOrDay | None) -> datetime | None:
    """A time in UTC; a day becomes its midnight."""
    if moment is None:
        return None
    if isinstance(moment, datetime):
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    if isinstance(moment, date):
        return datetime.combine(moment, time(), UTC)
    raise InvalidArgument(f"begin and end must be a datetime or a date, not {moment!r}")


def write_history(
    frame: DataFrame,
    lake: Lake | Path | str,
    *,
    source: str,
    once: tuple[str, int] | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> int:
    """Append rows to the history of a source, and return their number.

    The columns are those of history; what is missing is null. The rows are there together, or not at all. With
    `once`, a name and a number, they are there once: a call whose number is not above the last one's does nothing.
    """
    location, name = resolve_lake(lake, storage_options), check_source_name(source)
    table = ensure_table(location, HISTORY)
    step = None
    if once is not None:
        app, number = f"lonnymq write {once[0]}", once[1]
        step = SyncStep(app, table.transaction_version(app), number)
        if step.since is not None and step.since >= number:
            return 0
    write = partial(write_task, lake=location, source=name, schema=arrow_schema(HISTORY_COLUMNS))
    rows = select_history_columns(frame).mapInArrow(write, WRITTEN_DDL)
    files = [WrittenFile(*row) for row in rows.collect()]
    if files:
        commit_files(location, files, source=name, step=step)
    return sum(each.rows for each in files)


def select_history_columns(frame: DataFrame) -> DataFrame:
    """Select the columns of history, with their types."""
    from pyspark.sql import functions as f

    missing = [each for each in REQUIRED_COLUMNS if each not in frame.columns]
    if missing:
        raise InvalidArgument(f"the DataFrame lacks columns of history: {', '.join(missing)}")
    return frame.select(
        [
            (f.col(each.name) if each.name in frame.columns else f.lit(None))
            .cast(each.dataType)
            .alias(each.name)
            for each in spark_schema(HISTORY_COLUMNS)
        ]
    )
