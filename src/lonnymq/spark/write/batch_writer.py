"""Batch writes: `df.write.format("lonnymq").mode("append")`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from lonnymq.errors import InvalidArgument
from lonnymq.spark.connection import open_connection
from lonnymq.spark.write.commit_messages import Staged
from lonnymq.spark.write.job import Job, prepare
from lonnymq.spark.write.loads import Key, begin


def writer(given: Mapping[str, str], schema: StructType, *, overwrite: bool) -> Writer:
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
    return Writer(job, key)


class Writer(DataSourceArrowWriter):
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
            from lonnymq.spark.write.publishing import publish

            publish(self.job.options, self.key, staged)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Drop what the tasks put aside."""
        from lonnymq.spark.write.publishing import discard

        discard(self.job.options, [each for each in messages if isinstance(each, Staged)])
