"""One task's share of a slice: read from PostgreSQL as Arrow, written as Parquet; runs on executors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from lonnymq.lake.columns import OF_HISTORY
from lonnymq.lake.files import WRITTEN_DDL, Written, write_files
from lonnymq.lake.place import Lake
from lonnymq.spark.read.arrow_reader import read_batches, read_transaction
from lonnymq.spark.read.schemas import Column
from lonnymq.spark.read.sql import build_select

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lonnymq.results import HistoryPart

# The rows of a part lie together in the index of transactions, and nowhere else is to be looked.
BY_INDEX = ("enable_seqscan", "enable_bitmapscan", "jit")


@dataclass(frozen=True)
class Errand:
    """What the tasks of a slice are sent for; shows no address, which may hold a password."""

    parts: tuple[HistoryPart, ...]
    address: str = field(repr=False)
    schema: str
    lake: Lake
    source: str
    with_content: bool
    by_function: bool  # who may not read the table asks the function that may


def run_errand(spark: SparkSession, errand: Errand) -> list[Written]:
    """Have the cluster write a slice, a task a part; the files that hold it."""
    count = len(errand.parts)
    tasks = spark.range(0, count, 1, count)
    rows = tasks.mapInArrow(partial(do_errand, errand=errand), WRITTEN_DDL).collect()
    return [Written(*row) for row in rows]


def do_errand(ids: Iterator[pa.RecordBatch], *, errand: Errand) -> Iterator[pa.RecordBatch]:
    """Write the parts with these numbers, on an executor."""
    for batch in ids:
        for number in batch.column(0).to_pylist():
            rows = read_part(errand, errand.parts[number])
            yield from write_files(rows, errand.lake, errand.source)


def read_part(errand: Errand, part: HistoryPart) -> Iterator[pa.RecordBatch]:
    """The rows of a part, the same ones whenever it is read."""
    columns = columns_of(with_content=errand.with_content)
    begin, end = f"'{part.since}'::xid8", f"'{part.upto}'::xid8"
    if errand.by_function:
        query = build_select(columns, f"{errand.schema}.history_read({begin}, {end})")
    else:
        found = [f"r.xid >= {begin}", f"r.xid < {end}"]
        query = build_select(columns, f"{errand.schema}.history", found)
    with read_transaction(errand.address) as cursor:
        for setting in BY_INDEX:
            cursor.execute(f"set local {setting} = off")
        for batch in read_batches(cursor, query, columns):
            if batch.num_rows:
                yield batch


def columns_of(*, with_content: bool) -> tuple[Column, ...]:
    """The columns of history; the content is nothing where it is not wanted."""
    return tuple(
        each
        if with_content or each.name != "content"
        else Column(each.name, each.type, "null::bytea")
        for each in OF_HISTORY
    )
