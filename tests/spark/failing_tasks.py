"""A program whose tasks each fail once, at a point of each way to write, in a Spark that tries a task four times.

    python failing_tasks.py dsn folder

Writes the same rows in each way that there is, into a channel named for it.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import udf

import lonnymq.spark
from lonnymq.spark.data_source import LonnyMQDataSource
from lonnymq.spark.write import writers

ROWS = 2_000
HALF = 500  # rows of each of two tasks
COLUMNS = "channel string, content string"
INLINE, STAGED = (
    1,
    500,
)  # bytes of a row: few are sent with the commit message, many are staged in a table
POINTS = ("udf", "arrow", "pandas", "input killed", "writer raises", "writer killed")
WAYS = [
    *product(["batch"], POINTS, [INLINE, STAGED]),
    *product(["stream"], ["arrow", "writer raises"], [STAGED]),
]


def is_first() -> bool:
    context = TaskContext.get()
    return context is not None and context.attemptNumber() == 0


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def stop_halfway(stop: Callable[[], object]) -> Any:
    """Let half the rows of a task through, and then stop if this is its first attempt."""

    def work(batches: Iterator[Any]) -> Iterator[Any]:
        rows = 0
        for batch in batches:
            if rows >= HALF and is_first():
                stop()
            rows += len(batch)
            yield batch

    return work


def fail() -> None:
    raise RuntimeError("the input ends early")


def fail_on_row(content: str) -> str:
    if is_first() and content.startswith("777."):
        fail()
    return content


def broken(frame: DataFrame, point: str) -> DataFrame:
    """The rows, whose first attempt fails before the writer if the point is there."""
    if point == "udf":
        return frame.select("channel", udf(fail_on_row, "string")("content").alias("content"))
    if point == "arrow":
        return frame.mapInArrow(stop_halfway(fail), COLUMNS)
    if point == "pandas":
        return frame.mapInPandas(stop_halfway(fail), COLUMNS)
    if point == "input killed":
        return frame.mapInArrow(stop_halfway(die), COLUMNS)
    return frame


class FailingWriter(writers.BatchWriter):
    stop: Callable[[], object]

    def write(self, iterator: Any) -> Any:
        return lose_answer(super().write(iterator), self.stop)


class FailingStreamWriter(writers.StreamWriter):
    stop: Callable[[], object]

    def write(self, iterator: Any) -> Any:
        return lose_answer(super().write(iterator), self.stop)


def lose_answer(answer: Any, stop: Callable[[], object]) -> Any:
    """Lose the commit message of a task, if this is its first attempt."""
    if is_first():
        stop()
    return answer


class FailingSource(LonnyMQDataSource):
    """The format, with those writers. The option `queryName` is Spark's, and names the point here."""

    def writer(self, schema: Any, overwrite: bool) -> Any:
        writer = writers.create_batch_writer(self.options, schema, overwrite=overwrite)
        failing = FailingWriter(writer.job, writer.key)
        failing.stop = STOPS.get(self.options["queryName"], bool)
        return failing

    def streamWriter(self, schema: Any, overwrite: bool) -> Any:  # noqa: N802
        failing = FailingStreamWriter(
            writers.create_stream_writer(self.options, schema, overwrite=overwrite).job
        )
        failing.stop = STOPS.get(self.options["queryName"], bool)
        return failing


STOPS = {"writer raises": fail, "writer killed": die}


def write(spark: SparkSession, dsn: str, folder: Path, way: tuple[str, str, int]) -> None:
    kind, point, size = way
    name = f"{kind} {point} {size}"
    columns = f"'{name}' as channel", f"concat(id, repeat('.', {size})) as content"
    options = {"url": dsn, "queryName": point, **json.loads(os.environ.get("MORE", "{}"))}
    if kind == "batch":
        frame = broken(spark.range(0, ROWS, 1, 2).selectExpr(*columns), point)
        frame.write.format("lonnymq").mode("append").options(**options).save()
        return
    files = spark.readStream.schema("id bigint").option("maxFilesPerTrigger", 2)
    frame = broken(files.json(str(folder / "in")).selectExpr(*columns), point)
    query = (
        frame.writeStream.format("lonnymq")
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
    config = {
        "spark.ui.enabled": "false",
        "spark.sql.files.openCostInBytes": "100000000",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "50",  # the writer has rows before the input ends
        "spark.buffer.size": "4096",
    }
    spark = lonnymq.spark.session("local[2,4]", config=config)
    spark.sparkContext.setLogLevel("OFF")
    spark.dataSource.register(FailingSource)
    for way in WAYS:
        write(spark, dsn, folder, way)
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
