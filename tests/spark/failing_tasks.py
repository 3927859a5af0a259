"""A program whose tasks each fail once after they have written their rows, in a Spark that tries a task three times.

    python failing_tasks.py dsn folder

Writes the same rows in each way that there is, into a channel named for it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pyspark import TaskContext
from pyspark.sql import SparkSession

import lonnymq.spark
from lonnymq.spark.data_source import LonnyMQDataSource
from lonnymq.spark.write import writers

ROWS = 2_000
WAYS = [
    (kind, mode, size)
    for kind in ("batch", "stream")
    for mode in ("staged", "direct")
    for size in (1, 500)
]


class FailingWriter(writers.BatchWriter):
    def write(self, iterator: Any) -> Any:
        return fail_once(super().write(iterator))


class FailingStreamWriter(writers.StreamWriter):
    def write(self, iterator: Any) -> Any:
        return fail_once(super().write(iterator))


def fail_once(answer: Any) -> Any:
    """Lose what a task has to say, if this is its first attempt."""
    context = TaskContext.get()
    if context and context.attemptNumber() == 0:
        raise RuntimeError("the answer is lost")
    return answer


class FailingSource(LonnyMQDataSource):
    """The format, with those writers."""

    def writer(self, schema: Any, overwrite: bool) -> Any:
        writer = writers.create_batch_writer(self.options, schema, overwrite=overwrite)
        return FailingWriter(writer.job, writer.key)

    def streamWriter(self, schema: Any, overwrite: bool) -> Any:  # noqa: N802
        writer = writers.create_stream_writer(self.options, schema, overwrite=overwrite)
        return FailingStreamWriter(writer.job)


def write(spark: SparkSession, dsn: str, folder: Path, way: tuple[str, str, int]) -> None:
    kind, mode, size = way
    name = f"{kind} {mode} {size}"
    columns = f"'{name}' as channel", f"concat(id, repeat('.', {size})) as content"
    options = {"url": dsn, "commitMode": mode}
    if kind == "batch":
        frame = spark.range(0, ROWS, 1, 2).selectExpr(*columns)
        frame.write.format("lonnymq").mode("append").options(**options).save()
        return
    files = spark.readStream.schema("id bigint").option("maxFilesPerTrigger", 2)
    query = (
        files.json(str(folder / "in"))
        .selectExpr(*columns)
        .writeStream.format("lonnymq")
        .options(checkpointLocation=str(folder / name), **options)
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


def main(dsn: str, folder: Path) -> None:
    (folder / "in").mkdir()
    for number in range(4):  # two batches of two files
        lines = (json.dumps({"id": at}) for at in range(number, ROWS, 4))
        (folder / "in" / f"{number}.json").write_text("\n".join(lines))
    config = {"spark.ui.enabled": "false", "spark.sql.files.openCostInBytes": "100000000"}
    spark = lonnymq.spark.session("local[2,3]", config=config)
    spark.sparkContext.setLogLevel("OFF")
    spark.dataSource.register(FailingSource)
    for way in WAYS:
        write(spark, dsn, folder, way)
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
