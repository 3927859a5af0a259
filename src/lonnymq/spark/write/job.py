"""What batch and stream writers have in common: checks on the driver before tasks start, and the work of a task.

Plan, tasks and commit run in processes of their own, which Spark starts anew after a minute without work: each imports
what it needs, when it needs it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from uuid import uuid4

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import WriterCommitMessage
from pyspark.sql.types import StructType

from lonnymq.errors import InvalidArgument, translated
from lonnymq.spark.connection import check_granted, check_installed, open_connection
from lonnymq.spark.gc import rest
from lonnymq.spark.options import Operation, Options, read_options
from lonnymq.spark.write.columns import check_columns
from lonnymq.spark.write.commit_messages import Written
from lonnymq.spark.write.counts import Counts
from lonnymq.spark.write.loads import sweep

TO_WRITE = "a producer writes with commitMode=staged; direct is for the queue's owner"


@dataclass
class Job:
    """One write: its options, and a name of its own that no other has."""

    options: Options
    once: str = field(default_factory=lambda: f"once {uuid4()}")
    is_done: bool = False

    def write(self, batches: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """The rows of a task, on an executor."""
        context = TaskContext.get()
        part = context.partitionId() if context else 0
        query = context.getLocalProperty("sql.streaming.queryId") if context else None
        if self.is_done:
            return WriterCommitMessage()
        with translated():
            if self.options["commitMode"] == "direct":
                from lonnymq.spark.write.direct import write_direct

                rest()
                return Written(write_direct(self.options, batches, (self.once, part)))
            from lonnymq.spark.write.staging import stage_rows

            rest()
            return stage_rows(self.options, batches, part=part, query=query)

    def written(self, messages: Iterable[WriterCommitMessage | None]) -> None:
        """What tasks that have created their rows say, on the driver."""
        counts = sum((each.counts for each in messages if isinstance(each, Written)), Counts())
        if counts.rejected:
            from lonnymq.spark.write.rejects import tell

            tell(self.options, counts, self.once)


def prepare(
    given: Mapping[str, str], schema: StructType, operation: Operation, *, overwrite: bool
) -> Job:
    """Check everything that can be checked before tasks start, on the driver."""
    if overwrite:
        raise InvalidArgument(
            "a queue is appended to, and nothing else: use mode('append'), "
            "or outputMode('append') or 'update' for a stream"
        )
    options = read_options(given, operation)
    check_columns(schema)
    if options["commitMode"] == "direct" and options["txnAppId"] is not None:
        raise InvalidArgument("txnAppId needs commitMode=staged: direct writes are not remembered")
    if operation == "stream write":  # which has been running for days, perhaps
        from lonnymq.spark.retry import wait_until_there

        wait_until_there(options)
    with translated(), open_connection(options) as connection:
        check_installed(connection, options, table="load")
        if options["commitMode"] == "direct":
            message = f"{options.schema}.message"
            check_granted(connection, message, "insert", otherwise=TO_WRITE)
        if options["rejects"] is not None:
            from lonnymq.spark.write.rejects import ensure_table

            ensure_table(connection, options)
        sweep(connection, options)
    rest()
    return Job(options)
