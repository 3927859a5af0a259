"""`commitMode=staged`: tasks stage their rows, the driver publishes all stages in one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain
from typing import Any

import pyarrow as pa
from psycopg import Connection, OperationalError

from lonnymq.errors import Unreachable, translated
from lonnymq.spark.connection import open_connection
from lonnymq.spark.options import Options
from lonnymq.spark.retry import open_connection_with_retries, run_with_retries
from lonnymq.spark.write import rejects
from lonnymq.spark.write.inserts import copy_batch, create_rows, runs
from lonnymq.spark.write.loads import (
    Counts,
    Key,
    Staged,
    begin,
    create_stage,
    drop_stages,
    end,
    measure,
    take_stage,
)
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
    with open_connection_with_retries(options) as connection, connection.transaction():
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


def publish(options: Options, key: Key, parts: Iterable[Staged]) -> Counts | None:
    """Publish a load, in the order of its parts; None: it was published before, and nothing is added.

    If the database goes away it is tried again, whether or not that was after the commit: a load is published once.
    """
    ordered = sorted((each for each in parts if each.rows), key=lambda each: each.part)
    if not ordered:
        return Counts()
    counts = run_with_retries(lambda: publish_once(options, key, ordered))
    rejects.tell(options, counts or Counts(), key[0])
    return counts


def publish_once(options: Options, key: Key, ordered: list[Staged]) -> Counts | None:
    """Publish a load in one transaction."""
    stages = [each.stage for each in ordered if each.stage is not None]
    counts: Counts | None = None
    with translated(), open_connection(options) as connection, connection.transaction():
        if begin(connection, options, key):
            counts = sum((take(connection, options, key, each) for each in ordered), Counts())
            rejects.refuse(options, counts)
            end(connection, options, key, counts)
        drop_stages(connection, options, stages)
    return counts


def take(connection: Connection[Any], options: Options, key: Key, part: Staged) -> Counts:
    """Make messages of a part."""
    if part.stage is None:
        return take_few(connection, options, key, part.few)
    counts = take_stage(connection, options, part.stage, part.rows)
    if counts.rejected and options["rejects"]:
        rejects.keep_stage(connection, options, part.stage, key)
    return counts


def take_few(connection: Connection[Any], options: Options, key: Key, few: bytes) -> Counts:
    """Make messages of rows that a task sent along."""
    judged = judged_few(connection, few)
    counts, refused = create_rows(connection, options, judged.good)
    for rows in (refused, judged.bad):
        if rows is not None and options["rejects"]:
            rejects.keep_batch(connection, options, rows, key)
    return counts + Counts(invalid=judged.bad.num_rows if judged.bad is not None else 0)


def discard(options: Options, parts: Iterable[Staged | None]) -> None:
    """Drop what tasks put aside for a load that will not be published; if it cannot be, the next load does it."""
    stages = [each.stage for each in parts if each is not None and each.stage is not None]
    if stages:
        with suppress(Unreachable, OperationalError), open_connection(options) as connection:
            drop_stages(connection, options, stages)
