"""A program that tests run with each version of Spark, and with Spark Connect: each_version.py DSN FOLDER [sc://…].

It writes, reads, streams and works, and prints what came of each as JSON, an error as its first line.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable
from typing import Any

import pyspark

import lonnymq
import lonnymq.spark


class Steps:
    """What a user does first with the queue, each step on what the steps before left."""

    def __init__(self, dsn: str, folder: str, remote: str | None = None) -> None:
        self.dsn, self.folder, self.logged = dsn, folder, LogLines()
        logging.getLogger("lonnymq.spark").addHandler(self.logged)
        config: dict[str, str] = {
            "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": "2",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.memory": "512m",
        }
        if remote is None:
            self.spark = lonnymq.spark.session("local[2]", config=config)
            self.spark.sparkContext.setLogLevel("OFF")
        else:
            self.spark = lonnymq.spark.session(remote)
        self.queue = lonnymq.Queue(dsn)
        self.at_start = list(self.logged.lines)

    def batch_write(self) -> Any:
        frame = self.spark.range(1000).selectExpr(
            "concat('c', id % 7) as channel", "cast(id as string) as content", "'number' as kind"
        )
        for _ in range(2):
            write = frame.write.format("lonnymq").mode("append").option("url", self.dsn)
            write.options(txnAppId="version", txnVersion=1).save()
        return self.queue.stats().waiting

    def batch_read(self) -> Any:
        read = self.spark.read.format("lonnymq").option("url", self.dsn).load("messages")
        return read.selectExpr("sum(cast(cast(content as string) as bigint))").collect()[0][0]

    def filtered_read(self) -> Any:
        read = self.spark.read.format("lonnymq").options(url=self.dsn, pushDownPredicate="true")
        return read.load("messages").where("channel = 'c3'").count()

    def workers(self) -> Any:
        worker = lonnymq.Worker(self.dsn)

        @worker.handler("number")
        def work(content: int) -> None:
            pass

        rows = lonnymq.spark.run_workers(self.spark, worker, num_workers=2, until_empty=True)
        return {row["answer"]: row["count"] for row in rows.groupBy("answer").count().collect()}

    def stream_write(self) -> Any:
        self.spark.range(100).write.mode("overwrite").parquet(f"{self.folder}/source")
        stream = self.spark.readStream.schema("id bigint").parquet(f"{self.folder}/source")
        written = stream.selectExpr("'s' as channel", "cast(id as string) as content").writeStream
        self.run(written.format("lonnymq").option("url", self.dsn), "written")
        return self.queue.stats().waiting

    def stream_read(self) -> Any:
        stream = self.spark.readStream.format("lonnymq")
        read = stream.options(url=self.dsn, stream="s").load("messages").select("id")
        sink = read.writeStream.format("parquet").option("path", f"{self.folder}/sink")
        self.run(sink, "read")
        return self.spark.read.parquet(f"{self.folder}/sink").count()

    def outcomes(self) -> Any:
        self.queue.create_many([lonnymq.NewMessage(b"1", "judged") for _ in range(10)])
        dsn = self.dsn

        def judge(batch: Any, number: int) -> None:
            rows = batch.limit(4).selectExpr("id", "token", "'dead' as outcome", "'no' as error")
            lonnymq.spark.set_outcomes(rows, url=dsn)

        stream = self.spark.readStream.format("lonnymq")
        read = stream.options(url=self.dsn, stream="judge", subscribe="judged").load("messages")
        self.run(read.writeStream.foreachBatch(judge), "judged")
        return self.queue.stats().dead

    def lake(self) -> Any:
        from lonnymq.lake import read_history, sync

        sync(self.spark, f"{self.folder}/lake", url=self.dsn)
        return read_history(self.spark, f"{self.folder}/lake").count()

    def report(self) -> Any:
        from lonnymq.report import build_document, load_period, render_page

        period = load_period(self.spark, f"{self.folder}/lake")
        return "c3" in render_page(build_document(period))

    def sweep(self) -> Any:
        from lonnymq.simulate.sweep import run_trials_on_spark

        nothing: Any = None
        return run_trials_on_spark(self.spark, nothing, [nothing])

    def run(self, writer: Any, name: str) -> None:
        stored = writer.option("checkpointLocation", f"{self.folder}/{name} checkpoint")
        stored.trigger(availableNow=True).start().awaitTermination()


class LogLines(logging.Handler):
    """The lines that the library logged."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


def first_line(step: Callable[[], Any]) -> Any:
    """What a step answers, or the first line of its error."""
    try:
        return step()
    except Exception as error:
        return (str(error) or repr(error)).splitlines()[0]


if __name__ == "__main__":
    steps = Steps(*sys.argv[1:])
    found = {"version": pyspark.__version__, "logged": steps.at_start}
    names = ("batch_write", "batch_read", "filtered_read", "workers", "stream_write", "stream_read")
    for step in (*names, *(("outcomes", "lake", "report", "sweep") if sys.argv[3:] else ())):
        found[step] = first_line(getattr(steps, step))
    steps.spark.stop()
    print(json.dumps(found))
