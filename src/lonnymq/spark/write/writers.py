"""The writers that Spark calls, batch and stream: checks on the driver, rows on executors, commit on the driver."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from uuid import uuid4

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)
from pyspark.sql.types import (
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructType,
    TimestampType,
)

from lonnymq.errors import InvalidArgument, translated
from lonnymq.spark.connection import check_granted, check_installed, open_connection
from lonnymq.spark.gc import rest
from lonnymq.spark.options import Operation, Options, read_options
from lonnymq.spark.write.loads import Counts, Key, Staged, Written, begin, sweep

TEXT = (StringType,)
NUMBER = (LongType, IntegerType, ShortType)
TAKEN: dict[str, tuple[type[DataType], ...]] = {
    "channel": TEXT,
    "content": (BinaryType, StringType),
    "dequeue_at": (*NUMBER, TimestampType),
    "delay_ms": NUMBER,
    "name": TEXT,
    "kind": TEXT,
    "headers": (StringType, MapType),
}
SAID = {
    "content": "binary or string",
    "dequeue_at": "bigint (epoch milliseconds) or timestamp",
    "delay_ms": "bigint",
    "headers": "string (a JSON object) or map<string,string>",
}
NEEDED = ("channel", "content")


def check_columns(schema: StructType) -> None:
    """Raise at a column that is missing, unknown, or of a type that cannot be written."""
    names = schema.fieldNames()
    for needed in NEEDED:
        if needed not in names:
            raise InvalidArgument(
                f"the column {needed} is missing; the columns of a message are {', '.join(TAKEN)}, "
                f"of which {' and '.join(NEEDED)} are needed; given are {', '.join(names)}"
            )
    for column in schema.fields:
        if column.name not in TAKEN:
            raise InvalidArgument(
                f"unknown column {column.name}: select those of a message, {', '.join(TAKEN)}"
            )
        if not isinstance(column.dataType, TAKEN[column.name]) or not is_text_map(column.dataType):
            raise InvalidArgument(
                f"the column {column.name} must be {SAID.get(column.name, 'string')}, "
                f"not {column.dataType.simpleString()}"
            )


def is_text_map(kind: DataType) -> bool:
    """Whether a type, if it is a map, is one from text to text."""
    if not isinstance(kind, MapType):
        return True
    return isinstance(kind.keyType, StringType) and isinstance(kind.valueType, StringType)


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
            from lonnymq.spark.write.staged import stage_rows

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
        from lonnymq.spark.retry import wait_until_reachable

        wait_until_reachable(options)
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


def batch_writer(given: Mapping[str, str], schema: StructType, *, overwrite: bool) -> BatchWriter:
    """The writer of one job, on the driver."""
    job = prepare(given, schema, "write", overwrite=overwrite)
    app, version = job.options["txnAppId"], job.options["txnVersion"]
    if (app is None) != (version is None):
        raise InvalidArgument("txnAppId and txnVersion go together: give both, or none")
    key = (app, version) if app is not None else (job.once, 0)
    if app is not None:
        with (
            open_connection(job.options) as connection,
            connection.transaction(force_rollback=True),
        ):
            job.is_done = not begin(connection, job.options, key)
    return BatchWriter(job, key)


class BatchWriter(DataSourceArrowWriter):
    """One job. `write` runs on executors, `commit` and `abort` on the driver."""

    def __init__(self, job: Job, key: Key) -> None:
        self.job, self.key = job, key

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """The rows of a task."""
        return self.job.write(iterator)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Publish what the tasks put aside."""
        self.job.written(messages)
        staged = [each for each in messages if isinstance(each, Staged)]
        if self.job.options["commitMode"] == "staged" and not self.job.is_done:
            from lonnymq.spark.write.staged import publish

            publish(self.job.options, self.key, staged)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Drop what the tasks put aside."""
        from lonnymq.spark.write.staged import discard

        discard(self.job.options, [each for each in messages if isinstance(each, Staged)])


def stream_writer(given: Mapping[str, str], schema: StructType, *, overwrite: bool) -> StreamWriter:
    """The writer of one batch, on the driver."""
    return StreamWriter(prepare(given, schema, "stream write", overwrite=overwrite))


class StreamWriter(DataSourceStreamArrowWriter):
    """One batch. `write` runs on executors; `commit` and `abort` on the driver, on another instance than the tasks'."""

    def __init__(self, job: Job) -> None:
        self.job = job

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """The rows of a task."""
        return self.job.write(iterator)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 (Spark's name)
        """Publish what the tasks put aside, once for each batch of a query; `txnAppId` names it otherwise."""
        self.job.written(messages)
        staged = [each for each in messages if isinstance(each, Staged)]
        if not staged:
            return
        from lonnymq.spark.write.staged import publish

        app = self.job.options["txnAppId"] or f"query {staged[0].query}"
        publish(self.job.options, (app, batchId), staged)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 (Spark's name)
        """Drop what the tasks put aside."""
        from lonnymq.spark.write.staged import discard

        discard(self.job.options, [each for each in messages if isinstance(each, Staged)])
