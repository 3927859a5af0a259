"""Exports history into Parquet files, one file per day: a task reads a part of history as Arrow and writes the files.

Rows of a DataFrame and aggregates are written by the same tasks, on executors. File names are unique. Only committed
files belong to the table. `vacuum` deletes files of killed or repeated tasks.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lonnymq.lake.location import HISTORY, Lake
from lonnymq.lake.tables import HISTORY_COLUMNS
from lonnymq.spark.read.arrow_reader import read_batches, read_transaction
from lonnymq.spark.read.schemas import Column
from lonnymq.spark.read.sql import build_select, function_source

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lonnymq.results import HistoryPart

GROUP_ROWS = 200_000
GROUP_BYTES = 64 * 1024 * 1024
# Columns whose values come again and again; of the others a dictionary would be built for nothing.
DICTIONARY_COLUMNS = ["channel", "kind", "outcome", "worker", "error", "headers"]
STATISTICS_COLUMNS = ("xid", "message_id", "created_at", "finished_at")  # with minimum and maximum
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# The rows of a part are next to each other in the index of transactions.
DISABLED_SCANS = ("enable_seqscan", "enable_bitmapscan", "jit")


@dataclass(frozen=True)
class WrittenFile:
    """A written file: path, day, size and statistics for Delta."""

    path: str
    day: str
    rows: int
    bytes: int
    written_at: int
    stats: str


WRITTEN_TYPES = {each.name: each.type for each in fields(WrittenFile)}
WRITTEN_SCHEMA = pa.schema(
    [(name, pa.string() if kind == "str" else pa.int64()) for name, kind in WRITTEN_TYPES.items()]
)
WRITTEN_DDL = ", ".join(
    f"{name} {'string' if kind == 'str' else 'bigint'}" for name, kind in WRITTEN_TYPES.items()
)


def write_task(
    batches: Iterable[pa.RecordBatch],
    *,
    lake: Lake,
    source: str,
    schema: pa.Schema,
    table: str = HISTORY,
) -> Iterator[pa.RecordBatch]:
    """Write the rows of a task, cast to the types of the lake."""
    cast = (
        pa.RecordBatch.from_arrays(
            [batch.column(field.name).cast(field.type) for field in schema], schema=schema
        )
        for batch in batches
        if batch.num_rows
    )
    return write_files(cast, lake, source, table)


def write_files(
    batches: Iterable[pa.RecordBatch], lake: Lake, source: str, table: str = HISTORY
) -> Iterator[pa.RecordBatch]:
    """Write all batches, and return the files."""
    days: dict[date, DayFile] = {}
    system = lake.files()
    try:
        for batch in batches:
            for day, rows in split_by_day(batch):
                if day not in days:
                    days[day] = DayFile(system, table, source, day, rows.schema)
                days[day].add(rows)
            flush_if_large(days)
        written = [file.close() for file in days.values()]
    except BaseException:
        for file in days.values():
            file.discard()
        raise
    yield pa.RecordBatch.from_pylist([vars(each) for each in written], schema=WRITTEN_SCHEMA)


def list_written(batches: Iterable[pa.RecordBatch]) -> list[WrittenFile]:
    """The files that `write_files` returned."""
    return [WrittenFile(**each) for batch in batches for each in batch.to_pylist()]


class DayFile:
    """The file of a day, written in large row groups."""

    def __init__(self, system: Any, table: str, source: str, day: date, schema: pa.Schema) -> None:
        self.day, self.system, self.table = day, system, table
        folder = f"source={folder_name(source)}/date={day.isoformat()}"
        self.path = f"{folder}/part-{uuid4().hex}.zstd.parquet"
        system.create_dir(f"{table}/{folder}", recursive=True)
        self.stream = system.open_output_stream(f"{table}/{self.path}")
        self.writer = pq.ParquetWriter(
            self.stream,
            schema,
            compression="zstd",
            compression_level=1,
            use_dictionary=DICTIONARY_COLUMNS if table == HISTORY else True,
        )
        self.waiting: list[pa.RecordBatch] = []
        self.rows = self.waiting_rows = self.waiting_bytes = 0
        self.ranges: dict[str, tuple[Any, Any]] = {}

    def add(self, rows: pa.RecordBatch) -> None:
        """Add rows, and write a row group when there are enough."""
        self.waiting.append(rows)
        self.waiting_rows += rows.num_rows
        self.waiting_bytes += rows.nbytes
        if self.waiting_rows >= GROUP_ROWS or self.waiting_bytes >= GROUP_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write the collected rows as a row group."""
        if not self.waiting:
            return
        group = pa.Table.from_batches(self.waiting)
        self.writer.write_table(group, row_group_size=GROUP_ROWS)
        self.rows += group.num_rows
        for name in STATISTICS_COLUMNS if self.table == HISTORY else ():
            self.update_range(name, group.column(name))
        self.waiting, self.waiting_rows, self.waiting_bytes = [], 0, 0

    def update_range(self, name: str, column: Any) -> None:
        """Update the minimum and the maximum of a column."""
        found = pc.min_max(column.cast(pa.int64()))
        least, most = found["min"].as_py(), found["max"].as_py()
        if least is not None:
            before = self.ranges.get(name, (least, most))
            self.ranges[name] = (min(least, before[0]), max(most, before[1]))

    def close(self) -> WrittenFile:
        """Write the rest and close the file."""
        self.flush()
        self.writer.close()
        size = self.stream.tell()
        self.stream.close()
        now = int(time.time() * 1000)
        return WrittenFile(self.path, self.day.isoformat(), self.rows, size, now, file_stats(self))

    def discard(self) -> None:
        """Close and delete an incomplete file."""
        try:
            self.stream.close()
            self.system.delete_file(f"{self.table}/{self.path}")
        except Exception:  # noqa: S110 - it is nobody's either way
            pass


def split_by_day(batch: pa.RecordBatch) -> Iterator[tuple[date, pa.RecordBatch]]:
    """Split a batch by `date`, or else by the UTC day on which attempts finished. Files have no partition columns."""
    names = batch.schema.names
    days = batch.column("date" if "date" in names else "finished_at").cast(pa.date32())
    kept = batch.select([each for each in names if each not in ("source", "date")])
    found = pc.unique(days)
    for day in found:
        rows = kept if len(found) == 1 else kept.filter(pc.equal(days, day))
        yield day.as_py(), rows


def flush_if_large(days: dict[date, DayFile]) -> None:
    """Write early if many days together hold too much memory."""
    if sum(each.waiting_bytes for each in days.values()) > 2 * GROUP_BYTES:
        for file in days.values():
            file.flush()


def file_stats(file: DayFile) -> str:
    """The statistics of a file for Delta: rows, and ranges of some columns."""
    least, most = (
        {name: format_statistic(name, found[up], up=up) for name, found in file.ranges.items()}
        for up in (False, True)
    )
    return json.dumps({"numRecords": file.rows, "minValues": least, "maxValues": most})


def format_statistic(name: str, value: int, *, up: bool) -> int | str:
    """A bound as Delta writes it: times in milliseconds, minimum rounded down, maximum rounded up."""
    if not name.endswith("_at"):
        return value
    millis = -(-value // 1000) if up else value // 1000
    moment = EPOCH + timedelta(milliseconds=millis)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03}Z"


def folder_name(source: str) -> str:
    """The source's name as a folder: letters, digits, dots, minus and underlines stay, other bytes become _XX.

    Neither a shell nor a URL takes any of these for something else. The true name is in the table's log.
    """
    return re.sub(
        rb"[^A-Za-z0-9._-]", lambda found: b"_%02X" % found[0][0], source.encode()
    ).decode()


@dataclass(frozen=True)
class ExportJob:
    """The job of a batch; its repr hides the address, which may hold a password."""

    parts: tuple[HistoryPart, ...]
    address: str = field(repr=False)
    schema: str
    lake: Lake
    source: str
    with_content: bool
    by_function: bool  # for users who may not read the table


def run_export(spark: SparkSession, job: ExportJob) -> list[WrittenFile]:
    """Let the cluster write a batch, one task per part, and return the files."""
    count = len(job.parts)
    tasks = spark.range(0, count, 1, count)
    rows = tasks.mapInArrow(partial(export_parts, job=job), WRITTEN_DDL).collect()
    return [WrittenFile(*row) for row in rows]


def export_parts(ids: Iterator[pa.RecordBatch], *, job: ExportJob) -> Iterator[pa.RecordBatch]:
    """Write the parts with these numbers; runs on an executor."""
    for batch in ids:
        for number in batch.column(0).to_pylist():
            rows = read_part(job, job.parts[number])
            yield from write_files(rows, job.lake, job.source)


def read_part(job: ExportJob, part: HistoryPart) -> Iterator[pa.RecordBatch]:
    """The rows of a part. Every read returns the same rows."""
    columns = select_columns(with_content=job.with_content)
    begin, end = f"'{part.since}'::xid8", f"'{part.upto}'::xid8"
    if job.by_function:
        source = function_source(job.schema, "history_read", part.since, part.upto)
        query = build_select(columns, source)
    else:
        found = [f"r.xid >= {begin}", f"r.xid < {end}"]
        query = build_select(columns, f"{job.schema}.history", found)
    with read_transaction(job.address) as cursor:
        for setting in DISABLED_SCANS:
            cursor.execute(f"set local {setting} = off")
        for batch in read_batches(cursor, query, columns):
            if batch.num_rows:
                yield batch


def select_columns(*, with_content: bool) -> tuple[Column, ...]:
    """The columns of history, with a null content unless wanted."""
    return tuple(
        each
        if with_content or each.name != "content"
        else Column(each.name, each.type, "null::bytea")
        for each in HISTORY_COLUMNS
    )
