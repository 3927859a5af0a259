"""A program that writes into a queue, and kills itself and its Spark at a point of its choice.

    python dying_writer.py staged|published dsn folder

staged: a batch write whose tasks have put their rows aside; nothing is published. published: a stream's batch is
published, Spark has not yet written that down.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession

import lonnymq.spark
from lonnymq.spark.data_source import LonnyMQDataSource
from lonnymq.spark.write import writers

POINT, DSN, FOLDER = sys.argv[1:] if len(sys.argv) == 4 else ("", "", "")
ROWS = 4_000
COLUMNS = "concat('channel ', id % 10) as channel", "concat(id, repeat('.', 500)) as content"


def die() -> None:
    """End this program and its Java as a power cut would, whichever of its processes says so."""
    os.killpg(int(Path(os.environ["DYING_FOLDER"], "group").read_text()), signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


class DyingWriter(writers.BatchWriter):
    """Dies when the second task has put its rows aside."""

    def write(self, iterator: Any) -> Any:
        answer = super().write(iterator)
        context = TaskContext.get()
        if context and context.partitionId() == 1:
            die()
        return answer


class DyingStreamWriter(writers.StreamWriter):
    """Dies when a batch is published."""

    def commit(self, messages: Any, batchId: int) -> None:  # noqa: N803
        super().commit(messages, batchId)
        if batchId == 1:
            die()


class DyingSource(LonnyMQDataSource):
    """The format, with those writers."""

    def writer(self, schema: Any, overwrite: bool) -> Any:
        writer = writers.create_batch_writer(self.options, schema, overwrite=overwrite)
        return DyingWriter(writer.job, writer.key)

    def streamWriter(self, schema: Any, overwrite: bool) -> Any:  # noqa: N802
        writer = writers.create_stream_writer(self.options, schema, overwrite=overwrite)
        return DyingStreamWriter(writer.job)


def write_batch(spark: SparkSession, dsn: str) -> None:
    """The batch write, which may be done again."""
    frame = spark.range(0, ROWS, 1, 2).selectExpr(*COLUMNS)
    options: dict[str, Any] = {"url": dsn, "txnAppId": "nightly", "txnVersion": 1}
    frame.write.format("lonnymq").mode("append").options(**options).save()


def write_stream(spark: SparkSession, dsn: str, folder: Path, **options: Any) -> DataFrame:
    """The stream, from files: a file a batch, all that are there now."""
    files = spark.readStream.schema("id bigint").option("maxFilesPerTrigger", 1)
    frame = files.json(str(folder / "in")).selectExpr(*COLUMNS)
    query = (
        frame.writeStream.format("lonnymq")
        .options(url=dsn, checkpointLocation=str(folder / "checkpoint"), **options)
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return frame


def main() -> None:
    config = {"spark.ui.enabled": "false", "spark.default.parallelism": "2"}
    spark = lonnymq.spark.session("local[1]", config=config)
    Path(os.environ["DYING_FOLDER"], "group").write_text(str(os.getpgid(0)))
    spark.dataSource.register(DyingSource)
    if POINT == "staged":
        write_batch(spark, DSN)
    else:
        write_stream(spark, DSN, Path(FOLDER))


if __name__ == "__main__":
    main()
