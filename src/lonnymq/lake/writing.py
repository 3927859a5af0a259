"""Writes a DataFrame of history into a lake: tasks write the files, the driver commits them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from lonnymq.errors import InvalidArgument
from lonnymq.lake.columns import OF_HISTORY
from lonnymq.lake.committing import Once, commit_files
from lonnymq.lake.files import WRITTEN_DDL, Written, write_files
from lonnymq.lake.place import HISTORY, Lake, lake_at
from lonnymq.lake.tables import made_table
from lonnymq.spark.read.schemas import arrow_schema, spark_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

LONGEST = 63
NEEDED = ("channel", "outcome", "finished_at")


def write_history(
    frame: DataFrame,
    lake: Lake | Path | str,
    *,
    source: str,
    once: tuple[str, int] | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> int:
    """Append rows to the lake's history under a source's name; says how many they were.

    The columns are those of history; what is missing is null. The rows are there together, or not at all. With
    `once`, a name and a number, they are there once: a call whose number is not above the last one's does nothing.
    """
    place, name = lake_at(lake, storage_options), source_name(source)
    table = made_table(place, HISTORY)
    step = None
    if once is not None:
        app, number = f"lonnymq write {once[0]}", once[1]
        step = Once(app, table.transaction_version(app), number)
        if step.since is not None and step.since >= number:
            return 0
    rows = shaped(frame).mapInArrow(partial(write_shaped, lake=place, source=name), WRITTEN_DDL)
    files = [Written(*row) for row in rows.collect()]
    if files:
        commit_files(place, files, source=name, once=step)
    return sum(each.rows for each in files)


def write_shaped(
    batches: Iterator[pa.RecordBatch], *, lake: Lake, source: str
) -> Iterator[pa.RecordBatch]:
    """One task's rows into files, on an executor."""
    schema = arrow_schema(OF_HISTORY)
    return write_files((cast(each, schema) for each in batches if each.num_rows), lake, source)


def cast(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The batch with the types of the lake's files."""
    arrays = [batch.column(field.name).cast(field.type) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def shaped(frame: DataFrame) -> DataFrame:
    """The columns of history, in their order and with their types."""
    from pyspark.sql import functions as f

    missing = [each for each in NEEDED if each not in frame.columns]
    if missing:
        raise InvalidArgument(f"rows of history need the columns {', '.join(missing)}")
    return frame.select(
        [
            (f.col(each.name) if each.name in frame.columns else f.lit(None))
            .cast(each.dataType)
            .alias(each.name)
            for each in spark_schema(OF_HISTORY)
        ]
    )


def source_name(source: str) -> str:
    """A name for a source: it becomes a folder's, so it must not be long."""
    if not isinstance(source, str) or not 1 <= len(source.encode()) <= LONGEST:
        raise InvalidArgument(f"a source's name is 1 to {LONGEST} bytes long, not {source!r}")
    if any(ord(each) < 32 for each in source):
        raise InvalidArgument(f"a source's name has no control characters, not {source!r}")
    return source
