"""`commitMode=direct`: each task creates its messages in one transaction of its own, on an executor.

A task that fails leaves nothing. The same job does not write a task again that was lost after its commit; a job that is
run again writes again.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from psycopg import Connection

from lonnymq.spark.options import Options
from lonnymq.spark.retry import open_connection_with_retries
from lonnymq.spark.write.inserts import copy_batch, create_messages, group_batches
from lonnymq.spark.write.loads import Counts, LoadKey, begin_load, end_load, measure_headers
from lonnymq.spark.write.rejects import check_rejected, store_batch
from lonnymq.spark.write.validation import validate_batch


class DirectTask:
    """The rows of one task on their way into the queue."""

    def __init__(self, options: Options, connection: Connection[Any], key: LoadKey) -> None:
        self.options, self.connection, self.key = options, connection, key
        self.counts = Counts()
        self.channels: set[str] = set()
        self.limited: set[str] = set()  # channels whose capacity must be counted
        row = connection.execute(f"select {options.schema}.epoch(now())".encode()).fetchone()
        self.now: int = row[0] if row else 0

    def add_batch(self, batch: pa.RecordBatch) -> None:
        """Create messages from a batch."""
        found = validate_batch(batch, lambda texts: measure_headers(self.connection, texts))
        if self.can_copy(found.valid):
            rows = self.table_rows(found.valid)
            copy_batch(self.connection, f"{self.options.schema}.message", rows)
            self.counts += Counts(created=rows.num_rows)
        else:
            created, rejected = create_messages(self.connection, self.options, found.valid)
            self.counts += created
            self.store_rejected(rejected)
        self.counts += Counts(invalid=found.invalid_count)
        self.store_rejected(found.invalid)

    def can_copy(self, rows: pa.RecordBatch) -> bool:
        """Whether COPY is allowed: no row has a key, and no channel has a capacity to count."""
        found = set(pc.unique(rows.column("channel")).to_pylist())
        if new := sorted(found - self.channels):
            row = self.connection.execute(
                f"select {self.options.schema}.channel_has_capacity(%s)".encode(), (new,)
            ).fetchone()
            self.limited.update(row[0] if row else ())
            self.channels.update(new)
        return not found & self.limited and rows.column("key").null_count == rows.num_rows

    def table_rows(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """The rows as rows of the table: a default that COPY fills in costs more than the value."""
        now = pa.scalar(self.now, pa.int64())
        due = pc.add(now, pc.fill_null(rows.column("delay_ms"), 0))
        due = pc.coalesce(rows.column("dequeue_at"), due)
        created = pa.repeat(now, rows.num_rows)
        kept = {name: rows.column(name) for name in ("channel", "content", "kind", "headers")}
        arrays = {**kept, "dequeue_at": due, "created_at": created}
        return pa.RecordBatch.from_arrays(list(arrays.values()), names=list(arrays))

    def store_rejected(self, rows: pa.RecordBatch | None) -> None:
        """Store rejected rows in the table for them, if the options name a table."""
        if rows is not None and rows.num_rows and self.options["rejectsTable"]:
            store_batch(self.connection, self.options, rows, self.key)

    def finish(self) -> Counts:
        """Announce the new messages to the queue, and record the counts."""
        check_rejected(self.options, self.counts)
        statement = f"select {self.options.schema}.message_announce(%s)"
        self.connection.execute(statement.encode(), (sorted(self.channels - self.limited),))
        end_load(self.connection, self.options, self.key, self.counts)
        return self.counts


def write_direct(options: Options, batches: Iterable[pa.RecordBatch], key: LoadKey) -> Counts:
    """Create all messages of a task, once: an attempt after a committed one creates nothing."""
    with open_connection_with_retries(options) as connection, connection.transaction():
        if not begin_load(connection, options, key):
            return Counts()
        task = DirectTask(options, connection, key)
        for batch in group_batches(batches):
            task.add_batch(batch)
        return task.finish()
