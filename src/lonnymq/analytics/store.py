"""The aggregates that a lake stores: Delta tables under `analytics/`. A refresh replaces whole days in one commit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from lonnymq.analytics import columns
from lonnymq.analytics.aggregates import (
    compute_error_groups,
    compute_flow,
    compute_histograms,
    compute_hourly_histograms,
    compute_outcomes,
)
from lonnymq.analytics.columns import HOUR_MS, parse_schema
from lonnymq.analytics.fairness import compute_starvation
from lonnymq.lake.commit import make_add_action
from lonnymq.lake.dataframes import read_files
from lonnymq.lake.export import WRITTEN_DDL, WrittenFile, write_task
from lonnymq.lake.location import ANALYTICS, Lake
from lonnymq.lake.tables import ensure_table, find_table, list_files, open_table

if TYPE_CHECKING:
    from deltalake import DeltaTable


def find_aggregate(lake: Lake, name: str) -> DeltaTable | None:
    """Open the table of an aggregate, or return None if there is none."""
    return find_table(lake, f"{ANALYTICS}/{name}")


def ensure_aggregate(lake: Lake, name: str, ddl: str) -> pa.Schema:
    """Create the table of an aggregate if there is none, and return its Arrow schema. Times are in UTC."""
    from deltalake import Schema
    from pyspark.sql.pandas.types import to_arrow_schema

    schema = to_arrow_schema(parse_schema(ddl), timezone="UTC")
    ensure_table(lake, f"{ANALYTICS}/{name}", Schema.from_arrow(schema))
    return schema


def read_aggregate(
    spark: SparkSession,
    lake: Lake,
    name: str,
    ddl: str,
    *,
    first: date | None = None,
    last: date | None = None,
    source: str | None = None,
) -> DataFrame:
    """The rows of an aggregate from the first to the last day, of one source or of all."""
    schema, table = parse_schema(ddl), find_aggregate(lake, name)
    # The path holds the day, and the source in escaped form: the source is read from the table's log.
    in_paths = StructType([each for each in schema if each.name != "source"])
    root = lake.table(f"{ANALYTICS}/{name}")
    reader = spark.read.schema(in_paths.add("source", "string")).option("basePath", root)
    files = list_files(table, source, first, last) if table is not None else []
    found = read_files(reader, root, files)
    if found is None:
        return spark.createDataFrame([], schema)
    return found.select(*schema.fieldNames())


def replace_days(
    frame: DataFrame, lake: Lake, name: str, ddl: str, *, source: str, days: Sequence[date]
) -> int:
    """Replace all rows of these days by those of the frame, in one commit; returns their number."""
    schema = ensure_aggregate(lake, name, ddl)
    write = partial(
        write_task, lake=lake, source=source, schema=schema, table=f"{ANALYTICS}/{name}"
    )
    by_day = frame.repartition("date").sortWithinPartitions("date", *frame.columns[2:4])
    rows = by_day.mapInArrow(write, WRITTEN_DDL).collect()
    files = [WrittenFile(*row) for row in rows]
    commit_days(lake, name, source, days, files)
    return sum(each.rows for each in files)


def commit_days(
    lake: Lake, name: str, source: str, days: Sequence[date], files: Sequence[WrittenFile]
) -> None:
    """Commit the files as the only files of these days of a source."""
    table = open_table(lake, f"{ANALYTICS}/{name}")
    table.create_write_transaction(
        [make_add_action(each, source) for each in files],
        mode="overwrite",
        schema=table.schema(),
        partition_by=["source", "date"],
        partition_filters=[
            ("source", "=", source),
            ("date", "in", [day.isoformat() for day in days]),
        ],
    )


@dataclass(frozen=True)
class Aggregate:
    """A stored aggregate: computed from attempts, by day, with declared columns.

    An aggregate that looks around also takes attempts that began on its days and ended on the next day, and in
    `before` the dequeues of the day before.
    """

    name: str
    columns: str
    make: Callable[..., DataFrame]
    looks_around: bool = False


def list_aggregates(every_ms: int = HOUR_MS) -> tuple[Aggregate, ...]:
    """All aggregates, with buckets of that length. A lake stores hours."""
    return (
        Aggregate("flow", columns.FLOW, partial(compute_flow, every_ms=every_ms)),
        Aggregate(
            "outcomes", columns.OUTCOMES_HOURLY, partial(compute_outcomes, every_ms=every_ms)
        ),
        Aggregate("histograms", columns.HISTOGRAMS, compute_histograms),
        Aggregate(
            "hourly_histograms",
            columns.HOURLY_HISTOGRAMS,
            partial(compute_hourly_histograms, every_ms=every_ms),
        ),
        Aggregate("errors", columns.ERRORS, compute_error_groups),
        Aggregate("starvation", columns.STARVATION, compute_starvation, looks_around=True),
    )
