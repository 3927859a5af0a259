"""Tasks stage their rows, and the driver publishes the rows of all tasks in one transaction, once.

An attempt of a task never makes a row visible: its input can end early, and the attempt cannot know. Spark passes to
the driver the commit messages of attempts with a complete input only, one for each task.
A task with many rows fills a table of its own, a stage, in one transaction. A task with few rows sends the rows with
its commit message, so that a stream of small batches creates no tables.
"""

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
from lonnymq.spark.write.inserts import copy_batch, create_messages, group_batches
from lonnymq.spark.write.loads import (
    Counts,
    LoadKey,
    StagedCommit,
    begin_load,
    create_stage,
    drop_stages,
    end_load,
    measure_headers,
    take_stage,
)
from lonnymq.spark.write.rejects import check_rejected, log_rejected, store_batch, store_stage
from lonnymq.spark.write.validation import validate_batch

INLINE_BYTES = 256 * 1024

# On executors


def stage_rows(
    options: Options, batches: Iterable[pa.RecordBatch], *, partition: int, query: str | None
) -> StagedCommit:
    """Stage the rows of a task."""
    first, size, rest = [], 0, iter(batches)
    for batch in rest:
        first.append(batch)
        size += batch.nbytes
        if size > INLINE_BYTES:
            return fill_stage(options, chain(first, rest), StagedCommit(partition, query))
    rows = sum(batch.num_rows for batch in first)
    return StagedCommit(partition, query, rows=rows, inline=serialize_batches(first))


def fill_stage(
    options: Options, batches: Iterable[pa.RecordBatch], commit: StagedCommit
) -> StagedCommit:
    """Create a stage and fill it with the rows."""
    with open_connection_with_retries(options) as connection, connection.transaction():
        commit.stage = create_stage(connection, options)
        table = f"{options.schema}.stage_{commit.stage}"
        for batch in group_batches(batches):
            commit.rows += copy_to_stage(connection, table, batch)
    return commit


def copy_to_stage(connection: Connection[Any], table: str, batch: pa.RecordBatch) -> int:
    """Append a batch to a stage, with the reason for each invalid row."""
    found = validate_batch(batch, lambda texts: measure_headers(connection, texts))
    copy_batch(connection, table, found.valid)
    if found.invalid is not None:
        copy_batch(connection, table, found.invalid)
    return int(batch.num_rows)


def serialize_batches(batches: list[pa.RecordBatch]) -> bytes:
    """Batches as bytes."""
    if not batches:
        return b""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batches[0].schema) as stream:
        for batch in batches:
            stream.write_batch(batch)
    return bytes(sink.getvalue())


# On the driver


def publish_load(options: Options, key: LoadKey, commits: Iterable[StagedCommit]) -> Counts | None:
    """Publish a load in the order of its partitions; None: it was published before, and nothing is added.

    While the database is unreachable the driver tries again, even after the commit: a load is published once.
    """
    ordered = sorted((each for each in commits if each.rows), key=lambda each: each.partition)
    if not ordered:
        return Counts()
    counts = run_with_retries(lambda: publish_once(options, key, ordered))
    log_rejected(options, counts or Counts(), key[0])
    return counts


def publish_once(options: Options, key: LoadKey, ordered: list[StagedCommit]) -> Counts | None:
    """Publish a load in one transaction."""
    stages = [each.stage for each in ordered if each.stage is not None]
    counts: Counts | None = None
    with translated(), open_connection(options) as connection, connection.transaction():
        if begin_load(connection, options, key):
            parts = (publish_task(connection, options, key, each) for each in ordered)
            counts = sum(parts, Counts())
            check_rejected(options, counts)
            end_load(connection, options, key, counts)
        drop_stages(connection, options, stages)
    return counts


def publish_task(
    connection: Connection[Any], options: Options, key: LoadKey, commit: StagedCommit
) -> Counts:
    """Create the messages of a task."""
    if commit.stage is None:
        batches = deserialize_batches(commit.inline)
        return sum((publish_batch(connection, options, key, each) for each in batches), Counts())
    counts = take_stage(connection, options, commit.stage, commit.rows)
    if counts.not_created and options["rejectsTable"]:
        store_stage(connection, options, commit.stage, key)
    return counts


def publish_batch(
    connection: Connection[Any], options: Options, key: LoadKey, batch: pa.RecordBatch
) -> Counts:
    """Create messages from rows that a task sent with its commit message."""
    found = validate_batch(batch, lambda texts: measure_headers(connection, texts))
    counts, rejected = create_messages(connection, options, found.valid)
    for rows in (rejected, found.invalid):
        if rows is not None and options["rejectsTable"]:
            store_batch(connection, options, rows, key)
    return counts + Counts(invalid=found.invalid_count)


def deserialize_batches(inline: bytes) -> Iterator[pa.RecordBatch]:
    """Bytes as batches."""
    return iter(pa.ipc.open_stream(inline)) if inline else iter(())


def discard_load(options: Options, commits: Iterable[StagedCommit]) -> None:
    """Drop the stages of a load that will not be published; if that fails, the next load drops them."""
    stages = [each.stage for each in commits if each.stage is not None]
    if stages:
        with suppress(Unreachable, OperationalError), open_connection(options) as connection:
            drop_stages(connection, options, stages)
