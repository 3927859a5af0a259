"""Figures in a lake: Delta tables under `figures/`, whose days are written by tasks and replaced in one commit."""

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

from lonnymq.analytics.error_groups import errors
from lonnymq.analytics.histogram import pulse, spreads
from lonnymq.analytics.hourly_aggregates import flow, hourly
from lonnymq.analytics.schemas import ERRORS, FLOW, HOURLY, PULSE, SPREADS, STARVATION, declared_as
from lonnymq.analytics.starvation import starvation
from lonnymq.analytics.time_buckets import HOUR_MS
from lonnymq.lake.dataframes import SPECIAL
from lonnymq.lake.errors import LakeBroken, LakeForeign
from lonnymq.lake.location import FIGURES, Lake
from lonnymq.lake.parquet import folder_name
from lonnymq.lake.tables import FORMAT, FORMAT_KEY, first_line, listed

if TYPE_CHECKING:
    from deltalake import DeltaTable

PARTED_BY = ["source", "date"]
WRITTEN = "path string, day string, rows long, bytes long"


def find_figure(lake: Lake, name: str) -> DeltaTable | None:
    """The table of a figure; None: it is not there yet."""
    from deltalake import DeltaTable

    place, options = lake.table(f"{FIGURES}/{name}"), dict(lake.options)
    try:
        if not DeltaTable.is_deltatable(place, options):
            return None
        table = DeltaTable(place, storage_options=options)
        is_ours = FORMAT_KEY in table.metadata().configuration
    except Exception as error:  # of several libraries, for one reason: it cannot be read
        advice = "Figures can be computed again: delete the folder"
        raise LakeBroken(f"{place} cannot be read: {first_line(error)}. {advice}") from error
    if not is_ours:
        raise LakeForeign(f"{place} is a Delta table, but none of a lake's. {LakeForeign.__doc__}")
    return table


def made_figure(lake: Lake, name: str, columns: str) -> DeltaTable:
    """The table of a figure, made if it is not there."""
    from deltalake import DeltaTable, Schema

    table = find_figure(lake, name)
    if table is None:
        if lake.is_local:
            lake.files().create_dir(f"{FIGURES}/{name}", recursive=True)
        table = DeltaTable.create(
            lake.table(f"{FIGURES}/{name}"),
            Schema.from_arrow(arrow_columns(columns)),
            mode="ignore",
            partition_by=PARTED_BY,
            name=f"lonnymq figures {name}",
            configuration={FORMAT_KEY: str(FORMAT)},
            raise_if_key_not_exists=False,  # a key of ours, not of Delta's
            storage_options=dict(lake.options),
        )
    return table


def arrow_columns(columns: str) -> pa.Schema:
    """Declared columns as Arrow has them; moments are in UTC."""
    from pyspark.sql.pandas.types import to_arrow_schema

    return to_arrow_schema(declared_as(columns), timezone="UTC")


def read_figure(
    spark: SparkSession,
    lake: Lake,
    name: str,
    columns: str,
    *,
    first: date | None = None,
    last: date | None = None,
    source: str | None = None,
) -> DataFrame:
    """The rows of a figure's days, from the first up to and with the last; of one source, or of all."""
    schema = declared_as(columns)
    table = find_figure(lake, name)
    # The day stands in the path; so does the source, but with its letters changed: that is taken from the table's log.
    in_paths = StructType([each for each in schema if each.name != "source"]).add(
        "source", "string"
    )
    root = lake.table(f"{FIGURES}/{name}")
    paths: dict[str, list[str]] = {}
    for file in listed(table) if table is not None else []:
        if (
            source in (None, file.source)
            and file.day is not None
            and is_between(file.day, first, last)
        ):
            paths.setdefault(file.source, []).append(SPECIAL.sub(r"\\\1", f"{root}/{file.path}"))
    read = spark.read.schema(in_paths).option("basePath", root)
    frames = [
        read.parquet(*files).withColumn("source", F.lit(each))
        for each, files in sorted(paths.items())
    ]
    if not frames:
        return spark.createDataFrame([], schema)
    return reduce(lambda left, right: left.unionByName(right), frames).select(*schema.fieldNames())


def is_between(day: date, first: date | None, last: date | None) -> bool:
    """Whether a day is asked for."""
    return (first is None or first <= day) and (last is None or day <= last)


def replace_days(
    frame: DataFrame, lake: Lake, name: str, columns: str, *, source: str, days: Sequence[date]
) -> int:
    """Put the frame's rows in the place of all rows of these days, in one commit; says how many they are."""
    made_figure(lake, name, columns)
    errand = partial(write_days, lake=lake, name=name, source=source, schema=arrow_columns(columns))
    by_day = frame.repartition("date").sortWithinPartitions("date", *frame.columns[2:4])
    files = by_day.mapInArrow(errand, WRITTEN).collect()
    commit(lake, name, source, days, [tuple(each) for each in files])
    return sum(each["rows"] for each in files)


def write_days(
    batches: Iterable[pa.RecordBatch], *, lake: Lake, name: str, source: str, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """Write a task's rows, a file for each day; runs on an executor."""
    system = lake.files()
    kept = pa.schema([each for each in schema if each.name not in PARTED_BY])
    opened: dict[date, tuple[str, Any, pq.ParquetWriter, list[int]]] = {}
    for batch in batches:
        for day in pc.unique(batch.column("date")):
            rows = batch.filter(pc.equal(batch.column("date"), day))
            if day.as_py() not in opened:
                folder = f"source={folder_name(source)}/date={day.as_py().isoformat()}"
                path = f"{folder}/part-{uuid4().hex}.zstd.parquet"
                system.create_dir(f"{FIGURES}/{name}/{folder}", recursive=True)
                stream = system.open_output_stream(f"{FIGURES}/{name}/{path}")
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


def commit(
    lake: Lake, name: str, source: str, days: Sequence[date], files: Sequence[tuple[Any, ...]]
) -> None:
    """Make the files the only ones of these days of a source."""
    from deltalake import DeltaTable
    from deltalake.transaction import AddAction, RemoveAction

    table = DeltaTable(lake.table(f"{FIGURES}/{name}"), storage_options=dict(lake.options))
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
        partition_by=PARTED_BY,
        partition_filters=[("source", "=", source), ("date", "in", listed)],
    )


@dataclass(frozen=True)
class Part:
    """A figure that is kept: attempts in, declared columns out, by day.

    One that looks around also takes what was begun on its days and ended on the day after, and in `before` the
    dequeues of the day before.
    """

    name: str
    columns: str
    make: Callable[..., DataFrame]
    looks_around: bool = False


def parts(every_ms: int = HOUR_MS) -> tuple[Part, ...]:
    """All of them, in buckets of that length; those in the lake are of an hour."""
    return (
        Part("flow", FLOW, lambda rows: flow(rows, every_ms=every_ms)),
        Part("hourly", HOURLY, lambda rows: hourly(rows, every_ms=every_ms)),
        Part("spreads", SPREADS, spreads),
        Part("pulse", PULSE, lambda rows: pulse(rows, every_ms=every_ms)),
        Part("errors", ERRORS, errors),
        Part("starvation", STARVATION, starvation, looks_around=True),
    )
