"""The aggregates that a lake stores: Delta tables under `analytics/`. A refresh replaces whole days in one commit."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial, reduce
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StructType

from lonnymq.analytics.error_groups import compute_error_groups
from lonnymq.analytics.histogram import compute_histograms, compute_hourly_histograms
from lonnymq.analytics.hourly_aggregates import compute_flow, compute_outcomes
from lonnymq.analytics.schemas import (
    ERRORS,
    FLOW,
    HISTOGRAMS,
    HOURLY_HISTOGRAMS,
    OUTCOMES_HOURLY,
    STARVATION,
    parse_schema,
)
from lonnymq.analytics.starvation import compute_starvation
from lonnymq.analytics.time_buckets import HOUR_MS
from lonnymq.lake.dataframes import GLOB_CHARACTERS
from lonnymq.lake.errors import LakeBroken, NotALake
from lonnymq.lake.location import ANALYTICS, Lake
from lonnymq.lake.parquet import folder_name
from lonnymq.lake.tables import FORMAT, FORMAT_KEY, first_line, list_files

if TYPE_CHECKING:
    from deltalake import DeltaTable

PARTITION_COLUMNS = ["source", "date"]
WRITTEN_DDL = "path string, day string, rows long, bytes long"


def find_aggregate(lake: Lake, name: str) -> DeltaTable | None:
    """Open the table of an aggregate, or return None if there is none."""
    from deltalake import DeltaTable

    location, options = lake.table(f"{ANALYTICS}/{name}"), dict(lake.options)
    try:
        if not DeltaTable.is_deltatable(location, options):
            return None
        table = DeltaTable(location, storage_options=options)
        is_ours = FORMAT_KEY in table.metadata().configuration
    except Exception as error:  # of several libraries, for one reason: it cannot be read
        advice = "Delete the folder: the next report computes the table again"
        raise LakeBroken(f"{location} cannot be read: {first_line(error)}. {advice}") from error
    if not is_ours:
        raise NotALake(f"the Delta table {location} does not belong to a lake. {NotALake.__doc__}")
    return table


def ensure_aggregate(lake: Lake, name: str, columns: str) -> DeltaTable:
    """Open the table of an aggregate, created if there is none."""
    from deltalake import DeltaTable, Schema

    table = find_aggregate(lake, name)
    if table is None:
        if lake.is_local:
            lake.files().create_dir(f"{ANALYTICS}/{name}", recursive=True)
        table = DeltaTable.create(
            lake.table(f"{ANALYTICS}/{name}"),
            Schema.from_arrow(declared_arrow_schema(columns)),
            mode="ignore",
            partition_by=PARTITION_COLUMNS,
            name=f"lonnymq analytics {name}",
            configuration={FORMAT_KEY: str(FORMAT)},
            raise_if_key_not_exists=False,  # a key of ours, not of Delta's
            storage_options=dict(lake.options),
        )
    return table


def declared_arrow_schema(columns: str) -> pa.Schema:
    """Declared columns as an Arrow schema; times are in UTC."""
    from pyspark.sql.pandas.types import to_arrow_schema

    return to_arrow_schema(parse_schema(columns), timezone="UTC")


def read_aggregate(
    spark: SparkSession,
    lake: Lake,
    name: str,
    columns: str,
    *,
    first: date | None = None,
    last: date | None = None,
    source: str | None = None,
) -> DataFrame:
    """The rows of an aggregate from the first to the last day, of one source or of all."""
    schema = parse_schema(columns)
    table = find_aggregate(lake, name)
    # The path holds the day, and the source in escaped form: the source is read from the table's log.
    in_paths = StructType([each for each in schema if each.name != "source"]).add(
        "source", "string"
    )
    root = lake.table(f"{ANALYTICS}/{name}")
    paths: dict[str, list[str]] = {}
    for file in list_files(table) if table is not None else []:
        if (
            source in (None, file.source)
            and file.day is not None
            and is_day_between(file.day, first, last)
        ):
            paths.setdefault(file.source, []).append(
                GLOB_CHARACTERS.sub(r"\\\1", f"{root}/{file.path}")
            )
    read = spark.read.schema(in_paths).option("basePath", root)
    frames = [
        read.parquet(*files).withColumn("source", F.lit(each))
        for each, files in sorted(paths.items())
    ]
    if not frames:
        return spark.createDataFrame([], schema)
    return reduce(lambda left, right: left.unionByName(right), frames).select(*schema.fieldNames())


def is_day_between(day: date, first: date | None, last: date | None) -> bool:
    """Whether a day is between two days, both included."""
    return (first is None or first <= day) and (last is None or day <= last)


def replace_days(
    frame: DataFrame, lake: Lake, name: str, columns: str, *, source: str, days: Sequence[date]
) -> int:
    """Replace all rows of these days by those of the frame, in one commit; returns their number."""
    ensure_aggregate(lake, name, columns)
    write = partial(
        write_days, lake=lake, name=name, source=source, schema=declared_arrow_schema(columns)
    )
    by_day = frame.repartition("date").sortWithinPartitions("date", *frame.columns[2:4])
    files = by_day.mapInArrow(write, WRITTEN_DDL).collect()
    commit_days(lake, name, source, days, [tuple(each) for each in files])
    return sum(each["rows"] for each in files)


def write_days(
    batches: Iterable[pa.RecordBatch], *, lake: Lake, name: str, source: str, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """Write the rows of a task, one file per day; runs on an executor."""
    system = lake.files()
    kept = pa.schema([each for each in schema if each.name not in PARTITION_COLUMNS])
    opened: dict[date, tuple[str, Any, pq.ParquetWriter, list[int]]] = {}
    for batch in batches:
        for day in pc.unique(batch.column("date")):
            rows = batch.filter(pc.equal(batch.column("date"), day))
            if day.as_py() not in opened:
                folder = f"source={folder_name(source)}/date={day.as_py().isoformat()}"
                path = f"{folder}/part-{uuid4().hex}.zstd.parquet"
                system.create_dir(f"{ANALYTICS}/{name}/{folder}", recursive=True)
                stream = system.open_output_stream(f"{ANALYTICS}/{name}/{path}")
                writer = pq.ParquetWriter(stream, kept, compression="zstd", compression_level=1)
                opened[day.as_py()] = (path, stream, writer, [0])
            _, _, writer, count = opened[day.as_py()]
            arrays = [rows.column(each.name).cast(each.type) for each in kept]
            writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=kept))
            count[0] += rows.num_rows
    written = []
    for day, (path, stream, writer, count) in opened.items():
        writer.close()
        size = stream.tell()
        stream.close()
        written.append({"path": path, "day": day.isoformat(), "rows": count[0], "bytes": size})
    told = pa.schema(
        [("path", pa.string()), ("day", pa.string()), ("rows", pa.int64()), ("bytes", pa.int64())]
    )
    yield pa.RecordBatch.from_pylist(written, schema=told)


def commit_days(
    lake: Lake, name: str, source: str, days: Sequence[date], files: Sequence[tuple[Any, ...]]
) -> None:
    """Commit the files as the only files of these days of a source."""
    from deltalake import DeltaTable
    from deltalake.transaction import AddAction, RemoveAction

    table = DeltaTable(lake.table(f"{ANALYTICS}/{name}"), storage_options=dict(lake.options))
    added: list[AddAction | RemoveAction] = [
        AddAction(
            path=path,
            size=size,
            partition_values={"source": source, "date": day},
            modification_time=int(time.time() * 1000),
            data_change=True,
            stats=json.dumps({"numRecords": rows}),
        )
        for path, day, rows, size in files
    ]
    listed = [day.isoformat() for day in days]
    table.create_write_transaction(
        added,
        mode="overwrite",
        schema=table.schema(),
        partition_by=PARTITION_COLUMNS,
        partition_filters=[("source", "=", source), ("date", "in", listed)],
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
        Aggregate("flow", FLOW, lambda rows: compute_flow(rows, every_ms=every_ms)),
        Aggregate(
            "outcomes", OUTCOMES_HOURLY, lambda rows: compute_outcomes(rows, every_ms=every_ms)
        ),
        Aggregate("histograms", HISTOGRAMS, compute_histograms),
        Aggregate(
            "hourly_histograms",
            HOURLY_HISTOGRAMS,
            lambda rows: compute_hourly_histograms(rows, every_ms=every_ms),
        ),
        Aggregate("errors", ERRORS, compute_error_groups),
        Aggregate("starvation", STARVATION, compute_starvation, looks_around=True),
    )
