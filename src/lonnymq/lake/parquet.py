"""Writes Arrow batches of history into Parquet files, one file per day; runs on executors.

File names are unique. Only committed files belong to the table. `vacuum` deletes files of killed or repeated tasks.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lonnymq.lake.location import HISTORY, Lake

GROUP_ROWS = 200_000
GROUP_BYTES = 64 * 1024 * 1024
# Columns whose values come again and again; of the others a dictionary would be built for nothing.
DICTIONARY_COLUMNS = ["channel", "kind", "outcome", "worker", "error", "headers"]
STATISTICS_COLUMNS = (
    "xid",
    "message_id",
    "created_at",
    "finished_at",
)  # whose least and greatest are told
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class WrittenFile:
    """A written file: path, day, size and statistics for Delta."""

    path: str
    day: str
    rows: int
    bytes: int
    written_at: int
    stats: str


WRITTEN_SCHEMA = pa.schema(
    [
        ("path", pa.string()),
        ("day", pa.string()),
        ("rows", pa.int64()),
        ("bytes", pa.int64()),
        ("written_at", pa.int64()),
        ("stats", pa.string()),
    ]
)
WRITTEN_DDL = "path string, day string, rows bigint, bytes bigint, written_at bigint, stats string"


def write_files(
    batches: Iterable[pa.RecordBatch], lake: Lake, source: str
) -> Iterator[pa.RecordBatch]:
    """Write all batches, and return the files."""
    days: dict[date, DayFile] = {}
    system = lake.files()
    try:
        for batch in batches:
            for day, rows in split_by_day(batch):
                if day not in days:
                    days[day] = DayFile(system, source, day, batch.schema)
                days[day].add(rows)
            flush_if_large(days)
        written = [file.close() for file in days.values()]
    except BaseException:
        for file in days.values():
            file.discard()
        raise
    yield pa.RecordBatch.from_pylist([vars(each) for each in written], schema=WRITTEN_SCHEMA)


class DayFile:
    """The file of a day, written in large row groups."""

    def __init__(self, system: Any, source: str, day: date, schema: pa.Schema) -> None:
        self.day, self.system = day, system
        folder = f"source={folder_name(source)}/date={day.isoformat()}"
        self.path = f"{folder}/part-{uuid4().hex}.zstd.parquet"
        system.create_dir(f"{HISTORY}/{folder}", recursive=True)
        self.stream = system.open_output_stream(f"{HISTORY}/{self.path}")
        self.writer = pq.ParquetWriter(
            self.stream,
            schema,
            compression="zstd",
            compression_level=1,
            use_dictionary=[each for each in DICTIONARY_COLUMNS if each in schema.names],
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
        for name in STATISTICS_COLUMNS:
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
            self.system.delete_file(f"{HISTORY}/{self.path}")
        except Exception:  # noqa: S110 - it is nobody's either way
            pass


def split_by_day(batch: pa.RecordBatch) -> Iterator[tuple[date, pa.RecordBatch]]:
    """Split a batch by the UTC day on which attempts finished."""
    days = batch.column("finished_at").cast(pa.date32())
    found = pc.unique(days)
    for day in found:
        rows = batch if len(found) == 1 else batch.filter(pc.equal(days, day))
        yield day.as_py(), rows


def flush_if_large(days: dict[date, DayFile]) -> None:
    """Write early if many days together hold too much memory."""
    if sum(each.waiting_bytes for each in days.values()) > 2 * GROUP_BYTES:
        for file in days.values():
            file.flush()


def file_stats(file: DayFile) -> str:
    """The statistics of a file for Delta: rows, and ranges of some columns."""
    least = {
        name: format_statistic(name, found[0], up=False) for name, found in file.ranges.items()
    }
    most = {name: format_statistic(name, found[1], up=True) for name, found in file.ranges.items()}
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
