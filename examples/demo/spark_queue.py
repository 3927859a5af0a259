"""The last act, if wanted: Spark puts a DataFrame into a queue, and reads the queue into a table."""

from __future__ import annotations

import tempfile

from rich.console import Console

from examples.demo.promises import Promise
from lonnymq import Queue

EVENTS, TENANTS = 5_000, 20
SCHEMA = "events"  # a queue of its own beside the show's, in the same database
# A show's history is small: two cores are kept from running hundreds of tasks with nothing in them.
CONFIG = {
    "spark.ui.enabled": "false",
    "spark.log.level": "ERROR",
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
}


def run_spark_step(console: Console, dsn: str) -> list[Promise]:
    """A DataFrame becomes messages, the messages become a table; and what was counted of it."""
    import lonnymq.spark

    console.print("\nSpark starts: a DataFrame into a queue, and the queue into a table.")
    spark = lonnymq.spark.session("local[2]", config=CONFIG)
    with Queue(dsn, schema=SCHEMA) as queue, tempfile.TemporaryDirectory() as folder:
        queue.install()
        frame = spark.range(EVENTS).selectExpr(
            f"concat('tenant ', id % {TENANTS}) as channel", "cast(id as string) as content"
        )
        options = {"url": dsn, "schema": SCHEMA}
        frame.write.format("lonnymq").mode("append").options(**options).save()
        written = queue.stats().waiting
        stream = spark.readStream.format("lonnymq").options(stream="demo", **options)
        query = (
            stream.load("messages")
            .selectExpr("channel as tenant", "cast(content as string) as event")
            .writeStream.format("parquet")
            .option("checkpointLocation", f"{folder}/checkpoint")
            .option("path", f"{folder}/events")
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        events = spark.read.parquet(f"{folder}/events").select("event")
        read, once = events.count(), events.distinct().count()
        left = queue.stats().waiting + queue.stats().leased
    return [
        Promise(f"Spark wrote {EVENTS:,} rows, {written:,} messages are there", written == EVENTS),
        Promise(
            f"a stream read {read:,} into a table, {once:,} different ones, {left} are left",
            (read, once, left) == (EVENTS, EVENTS, 0),
        ),
    ]
