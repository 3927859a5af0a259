"""`commitMode=staged`, the half of the tasks: rows are put aside, on executors, for the driver to publish.

A task with many rows fills a table of its own, a stage, in one transaction; one with few sends them along with its
answer, so that a stream of small batches makes no tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import pyarrow as pa
from psycopg import Connection

from lonnymq.spark.options import Options
from lonnymq.spark.retry import open_patiently
from lonnymq.spark.write.batching import runs
from lonnymq.spark.write.commit_messages import Staged
from lonnymq.spark.write.copy import copy_batch
from lonnymq.spark.write.loads import create_stage, measure
from lonnymq.spark.write.validation import BAD_SCHEMA, SCHEMA, Judged, judge

FEW_BYTES = 256 * 1024


def stage_rows(
    options: Options, batches: Iterable[pa.RecordBatch], *, part: int, query: str | None
) -> Staged:
    """Put the rows of a task aside."""
    first, size, rest = [], 0, iter(batches)
    for batch in rest:
        first.append(batch)
        size += batch.nbytes
        if size > FEW_BYTES:
            return fill(options, chain(first, rest), Staged(part, query))
    return Staged(part, query, rows=sum(batch.num_rows for batch in first), few=packed(first))


def fill(options: Options, batches: Iterable[pa.RecordBatch], staged: Staged) -> Staged:
    """Fill a stage with the rows."""
    with open_patiently(options) as connection, connection.transaction():
        staged.stage = create_stage(connection, options)
        table = f"{options.schema}.stage_{staged.stage}"
        for batch in runs(batches):
            staged.rows += add(connection, table, batch)
    return staged


def add(connection: Connection[Any], table: str, batch: pa.RecordBatch) -> int:
    """Append a batch to a stage, with the reason for rows that cannot be messages."""
    judged = judge(batch, lambda texts: measure(connection, texts))
    copy_batch(connection, table, judged.good)
    if judged.bad is not None:
        copy_batch(connection, table, judged.bad)
    return int(batch.num_rows)


def packed(batches: list[pa.RecordBatch]) -> bytes:
    """Batches as bytes."""
    if not batches:
        return b""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batches[0].schema) as stream:
        for batch in batches:
            stream.write_batch(batch)
    return bytes(sink.getvalue())


def unpacked(few: bytes) -> Iterator[pa.RecordBatch]:
    """Bytes as batches."""
    return iter(pa.ipc.open_stream(few)) if few else iter(())


def judged_few(connection: Connection[Any], few: bytes) -> Judged:
    """The rows that a task sent along, parted, on the driver."""
    found = [judge(batch, lambda texts: measure(connection, texts)) for batch in unpacked(few)]
    bad = [each.bad for each in found if each.bad is not None]
    return Judged(
        joined([each.good for each in found], SCHEMA), joined(bad, BAD_SCHEMA) if bad else None
    )


def joined(batches: list[pa.RecordBatch], schema: pa.Schema) -> pa.RecordBatch:
    """Batches as one."""
    found = pa.Table.from_batches(batches, schema).combine_chunks().to_batches()
    return found[0] if found else pa.RecordBatch.from_pylist([], schema)
