"""The tasks of a batch: each reads a part of history as Arrow and writes it as Parquet; runs on executors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from lonnymq.lake.location import Lake
from lonnymq.lake.parquet import WRITTEN_DDL, WrittenFile, write_files
from lonnymq.lake.tables import HISTORY_COLUMNS
from lonnymq.spark.read.arrow_reader import read_batches, read_transaction
from lonnymq.spark.read.schemas import Column
from lonnymq.spark.read.sql import build_select

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lonnymq.results import HistoryPart

# The rows of a part are next to each other in the index of transactions.
DISABLED_SCANS = ("enable_seqscan", "enable_bitmapscan", "jit")


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
        query = build_select(columns, f"{job.schema}.history_read({begin}, {end})")
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
