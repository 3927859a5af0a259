"""Stream writes: `df.writeStream.format("lonnymq")`; a batch is published once, by the query's id and its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from lonnymq.spark.write.commit_messages import Staged
from lonnymq.spark.write.job import Job, prepare


def writer(given: Mapping[str, str], schema: StructType, *, overwrite: bool) -> StreamWriter:
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
        from lonnymq.spark.write.publishing import publish

        app = self.job.options["txnAppId"] or f"query {staged[0].query}"
        publish(self.job.options, (app, batchId), staged)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 (Spark's name)
        """Drop what the tasks put aside."""
        from lonnymq.spark.write.publishing import discard

        discard(self.job.options, [each for each in messages if isinstance(each, Staged)])
