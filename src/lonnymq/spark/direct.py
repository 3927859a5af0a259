"""`commitMode=direct`: each task creates its rows itself, in one transaction of its own, on an executor.

A task that fails leaves nothing. One that was lost after its commit is not written again by the same job; a job that is
run again writes again.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from psycopg import Connection

from lonnymq.spark import rejects
from lonnymq.spark.copying import copy_batch
from lonnymq.spark.counts import Counts
from lonnymq.spark.creating import create_rows
from lonnymq.spark.loads import begin, end, measure
from lonnymq.spark.options import Options
from lonnymq.spark.outages import open_patiently
from lonnymq.spark.rows import judge
from lonnymq.spark.runs import runs


class Direct:
    """One task's rows on their way in."""

    def __init__(self, options: Options, connection: Connection[Any], key: tuple[str, int]) -> None:
        self.options, self.connection, self.key = options, connection, key
        self.counts = Counts()
        self.channels: set[str] = set()
        self.careful: set[str] = set()
        row = connection.execute(f"select {options.schema}.epoch(now())".encode()).fetchone()
        self.now: int = row[0] if row else 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Create the rows of a batch."""
        judged = judge(batch, lambda texts: measure(self.connection, texts))
        good, bad = judged.good, judged.bad
        if self.is_plain(good):
            copy_batch(self.connection, f"{self.options.schema}.message", self.filled(good))
            self.counts += Counts(created=good.num_rows)
        else:
            created, refused = create_rows(self.connection, self.options, good)
            self.counts += created
            self.keep(refused)
        self.counts += Counts(invalid=bad.num_rows if bad else 0)
        self.keep(bad)

    def is_plain(self, rows: pa.RecordBatch) -> bool:
        """Whether COPY may be used: no names, and no channel that must be counted."""
        found = set(pc.unique(rows.column("channel")).to_pylist())
        if new := sorted(found - self.channels):
            row = self.connection.execute(
                f"select {self.options.schema}.channel_has_capacity(%s)".encode(), (new,)
            ).fetchone()
            self.careful.update(row[0] if row else ())
            self.channels.update(new)
        return not found & self.careful and rows.column("name").null_count == rows.num_rows

    def filled(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """The rows as those of the table: a default that COPY fills in costs more than the value."""
        now = pa.scalar(self.now, pa.int64())
        due = pc.add(now, pc.fill_null(rows.column("delay_ms"), 0))
        due = pc.coalesce(rows.column("dequeue_at"), due)
        created = pa.repeat(now, rows.num_rows)
        kept = {name: rows.column(name) for name in ("channel", "content", "kind", "headers")}
        arrays = {**kept, "dequeue_at": due, "created_at": created}
        return pa.RecordBatch.from_arrays(list(arrays.values()), names=list(arrays))

    def keep(self, rows: pa.RecordBatch | None) -> None:
        """Keep rows that were not taken, if that was asked for."""
        if rows is not None and rows.num_rows and self.options["rejects"]:
            rejects.keep_batch(self.connection, self.options, rows, self.key)

    def close(self) -> Counts:
        """Tell the engine of what is new, and write down what became of the rows."""
        rejects.refuse(self.options, self.counts)
        statement = f"select {self.options.schema}.message_announce(%s)"
        self.connection.execute(statement.encode(), (sorted(self.channels - self.careful),))
        end(self.connection, self.options, self.key, self.counts)
        return self.counts


def write_direct(
    options: Options, batches: Iterable[pa.RecordBatch], key: tuple[str, int]
) -> Counts:
    """Create all rows of a task, once; an attempt after one that has committed creates nothing."""
    with open_patiently(options) as connection, connection.transaction():
        if not begin(connection, options, key):
            return Counts()
        task = Direct(options, connection, key)
        for batch in runs(batches):
            task.add(batch)
        return task.close()
