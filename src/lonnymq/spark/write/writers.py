"""The batch and stream writers that Spark calls: checks on the driver, rows on executors, commit on the driver.

Plan, tasks and commit run in separate processes, which Spark starts anew after a minute without work: each imports only
the modules that it needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import datasource
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage
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

from lonnymq.errors import InvalidArgument, LonnyMQError, translated
from lonnymq.spark.connection import check_installed, open_connection
from lonnymq.spark.options import Operation, Options, read_options
from lonnymq.spark.spark_process import freeze_imports, plain_errors
from lonnymq.spark.write.loads import LoadKey, StagedCommit, begin_load, cleanup_stages

if TYPE_CHECKING:
    from pyspark.sql.datasource import DataSourceStreamArrowWriter
else:  # Spark 4.0 has none, and stream writes are refused there
    DataSourceStreamArrowWriter = getattr(datasource, "DataSourceStreamArrowWriter", object)
Messages = Iterable[Any]  # for `commit` a StagedCommit of each task, for `abort` also None
NUMBER = (LongType, IntegerType, ShortType)
COLUMN_TYPES: dict[str, tuple[type[DataType], ...]] = {
    "channel": (StringType,),
    "content": (BinaryType, StringType),
    "dequeue_at": (*NUMBER, TimestampType),
    "delay_ms": NUMBER,
    "key": (StringType,),
    "kind": (StringType,),
    "headers": (StringType, MapType),
}
TYPE_NAMES = {
    "content": "binary or string",
    "dequeue_at": "bigint (epoch milliseconds) or timestamp",
    "delay_ms": "bigint",
    "headers": "string (a JSON object) or map<string,string>",
}
REQUIRED = ("channel", "content")


@dataclass
class WriteJob:
    """A write: its options, and whether an earlier run has published the same load."""

    options: Options
    is_published: bool = False

    def write(self, batches: Iterator[pa.RecordBatch]) -> StagedCommit:
        """Stage the rows of a task, on an executor."""
        context = TaskContext.get()
        partition = context.partitionId() if context else 0
        query = context.getLocalProperty("sql.streaming.queryId") if context else None
        if self.is_published:
            return StagedCommit(partition)
        from lonnymq.spark.write.staged import stage_rows

        freeze_imports()
        with plain_errors(), translated():
            return stage_rows(self.options, batches, partition=partition, query=query)

    def publish(self, key: LoadKey, commits: Messages) -> None:
        """Publish the staged rows, on the driver."""
        from lonnymq.spark.write.staged import publish_load

        with plain_errors():
            publish_load(self.options, key, commits)

    def discard(self, messages: Messages) -> None:
        """Drop the staged rows, on the driver. A task that did not commit has no message."""
        from lonnymq.spark.write.staged import discard_load

        discard_load(self.options, [each for each in messages if isinstance(each, StagedCommit)])


def prepare_write(
    given: Mapping[str, str], schema: StructType, operation: Operation, *, overwrite: bool
) -> WriteJob:
    """Check options, columns, queue and privileges before tasks start, on the driver."""
    if overwrite:
        raise InvalidArgument(
            "you can only append to a queue: use mode('append'), "
            "or outputMode('append') or 'update' for a stream"
        )
    options = read_options(given, operation)
    if options.table not in (None, "messages"):  # of a view
        raise InvalidArgument(f"you can only write messages, not {options.table}")
    check_columns(schema)
    if operation == "stream write":  # a stream may outlive a restart of the database
        from lonnymq.spark.retry import wait_until_reachable

        wait_until_reachable(options)
    prepare_database(options)
    freeze_imports()
    return WriteJob(options)


def prepare_database(options: Options) -> None:
    """Check the queue and the privileges, and create the table for rejected rows."""
    with translated(), open_connection(options) as connection:
        check_installed(connection, options, table="load")
        if options["rejectsTable"] is not None:
            from lonnymq.spark.write.rejects import ensure_table

            ensure_table(connection, options)
        cleanup_stages(connection, options)


def check_columns(schema: StructType) -> None:
    """Raise if a column is missing, unknown, or has a type that cannot be written."""
    names = schema.fieldNames()
    for required in REQUIRED:
        if required not in names:
            raise InvalidArgument(
                f"the column {required} is missing: the DataFrame has {', '.join(names)}, and "
                f"a message needs {' and '.join(REQUIRED)} and can have {', '.join(COLUMN_TYPES)}"
            )
    for column in schema.fields:
        if column.name not in COLUMN_TYPES:
            raise InvalidArgument(
                f"unknown column {column.name}: select only columns of a message, {', '.join(COLUMN_TYPES)}"
            )
        if not can_write(column.name, column.dataType):
            raise InvalidArgument(
                f"the column {column.name} must be {TYPE_NAMES.get(column.name, 'string')}, "
                f"not {column.dataType.simpleString()}"
            )


def can_write(name: str, kind: DataType) -> bool:
    """Whether a column may have this type; a map must be from text to text."""
    if isinstance(kind, MapType):
        parts = (kind.keyType, kind.valueType)
        return name == "headers" and all(isinstance(part, StringType) for part in parts)
    return isinstance(kind, COLUMN_TYPES[name])


def create_batch_writer(
    given: Mapping[str, str], schema: StructType, *, overwrite: bool
) -> BatchWriter:
    """The writer of a batch job, on the driver."""
    job = prepare_write(given, schema, "write", overwrite=overwrite)
    app, version = job.options["txnAppId"], job.options["txnVersion"]
    if (app is None) != (version is None):
        raise InvalidArgument("txnAppId and txnVersion go together: set both, or neither")
    key = (app, version) if app is not None else (f"once {uuid4()}", 0)
    if app is not None:
        with (
            open_connection(job.options) as connection,
            connection.transaction(force_rollback=True),
        ):
            job.is_published = not begin_load(connection, job.options, key)
    return BatchWriter(job, key)


class BatchWriter(DataSourceArrowWriter):
    """A batch job. `write` runs on executors, `commit` and `abort` on the driver."""

    def __init__(self, job: WriteJob, key: LoadKey) -> None:
        self.job, self.key = job, key

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write the rows of a task."""
        return self.job.write(iterator)

    def commit(self, messages: Messages) -> None:
        """Publish the staged rows."""
        if not self.job.is_published:
            self.job.publish(self.key, messages)

    def abort(self, messages: Messages) -> None:
        """Drop the staged rows."""
        self.job.discard(messages)


def create_stream_writer(
    given: Mapping[str, str], schema: StructType, *, overwrite: bool
) -> StreamWriter:
    """The writer of a batch of a stream, on the driver."""
    return StreamWriter(prepare_write(given, schema, "stream write", overwrite=overwrite))


class StreamWriter(DataSourceStreamArrowWriter):
    """A batch of a stream. `write` runs on executors, `commit` and `abort` on another instance on the driver."""

    def __init__(self, job: WriteJob) -> None:
        self.job = job

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write the rows of a task."""
        return self.job.write(iterator)

    def commit(self, messages: Messages, batchId: int) -> None:  # noqa: N803 (Spark's name)
        """Publish the staged rows, once per batch of the query."""
        commits = list(messages)
        if not commits:
            return
        if (
            commits[0].query is None
        ):  # all queries would share one name, and lose each other's batches
            raise LonnyMQError(
                "Spark passed no id of the query to its tasks: nothing was published"
            )
        self.job.publish((f"query {commits[0].query}", batchId), commits)

    def abort(self, messages: Messages, batchId: int) -> None:  # noqa: N803 (Spark's name)
        """Drop the staged rows."""
        self.job.discard(messages)
