"""One task's share of a slice: read from PostgreSQL as Arrow, written as Parquet; runs on executors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from lonnymq.lake.location import Lake
from lonnymq.lake.parquet import WRITTEN_DDL, WrittenFile, write_files
from lonnymq.lake.tables import HISTORY_COLUMNS
from lonnymq.spark.arrow_read import batches, reading, select
from lonnymq.spark.schemas import Column

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lonnymq.results import HistoryPart

# The rows of a part lie together in the index of transactions, and nowhere else is to be looked.
DISABLED_SCANS = ("enable_seqscan", "enable_bitmapscan", "jit")


@dataclass(frozen=True)
class ExportJob:
    """What the tasks of a slice are sent for; shows no address, which may hold a password."""

    parts: tuple[HistoryPart, ...]
    address: str = field(repr=False)
    schema: str
    lake: Lake
    source: str
    with_content: bool
    by_function: bool  # who may not read the table asks the function that may


def run_export(spark: SparkSession, job: ExportJob) -> list[WrittenFile]:
    """Have the cluster write a slice, a task a part; the files that hold it."""
    count = len(job.parts)
    tasks = spark.range(0, count, 1, count)
    rows = tasks.mapInArrow(partial(export_parts, job=job), WRITTEN_DDL).collect()
    return [WrittenFile(*row) for row in rows]


def export_parts(ids: Iterator[pa.RecordBatch], *, job: ExportJob) -> Iterator[pa.RecordBatch]:
    """Write the parts with these numbers, on an executor."""
    for batch in ids:
        for number in batch.column(0).to_pylist():
            rows = read_part(job, job.parts[number])
            yield from write_files(rows, job.lake, job.source)


def read_part(job: ExportJob, part: HistoryPart) -> Iterator[pa.RecordBatch]:
    """The rows of a part, the same ones whenever it is read."""
    columns = select_columns(with_content=job.with_content)
    begin, end = f"'{part.since}'::xid8", f"'{part.upto}'::xid8"
    if job.by_function:
        query = select(columns, f"{job.schema}.history_read({begin}, {end})")
    else:
        found = [f"r.xid >= {begin}", f"r.xid < {end}"]
        query = select(columns, f"{job.schema}.history", found)
    with reading(job.address) as cursor:
        for setting in DISABLED_SCANS:
            cursor.execute(f"set local {setting} = off")
        for batch in batches(cursor, query, columns):
            if batch.num_rows:
                yield batch


def select_columns(*, with_content: bool) -> tuple[Column, ...]:
    """The columns of history; the content is nothing where it is not wanted."""
    return tuple(
        each
        if with_content or each.name != "content"
        else Column(each.name, each.type, "null::bytea")
        for each in HISTORY_COLUMNS
    )
