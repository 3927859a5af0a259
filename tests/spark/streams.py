"""A query over a queue's stream as tests run it: into Parquet, a folder a batch, so that a batch that is tried again
replaces itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery


class Table:
    """What a query writes, and from where it goes on."""

    def __init__(self, spark: SparkSession, dsn: str, folder: Path, **options: Any) -> None:
        self.spark, self.dsn, self.folder = spark, dsn, folder
        self.options: dict[str, Any] = {"url": dsn, "stream": "s", "numPartitions": 2, **options}

    def frame(self) -> DataFrame:
        return self.spark.readStream.format("lonnymq").options(**self.options).load("messages")

    def start(self, *, now: bool = True, frame: DataFrame | None = None) -> StreamingQuery:
        """Begin, or go on; with all that is there now, or until stopped."""
        trigger: dict[str, Any] = {"availableNow": True} if now else {"processingTime": "0 seconds"}
        return (
            (frame or self.frame())
            .writeStream.foreachBatch(self.write)
            .option("checkpointLocation", str(self.folder / "checkpoint"))
            .trigger(**trigger)
            .start()
        )

    def run(self, *, frame: DataFrame | None = None) -> StreamingQuery:
        """Read all that is there now."""
        query = self.start(frame=frame)
        query.awaitTermination()
        return query

    def write(self, batch: DataFrame, number: int) -> None:
        batch.write.mode("overwrite").parquet(str(self.folder / "table" / f"batch={number}"))

    def rows(self) -> DataFrame:
        return self.spark.read.parquet(str(self.folder / "table"))

    def ids(self) -> list[int]:
        """The ids in the table, as often as they are in it."""
        return sorted(row.id for row in self.rows().select("id").collect())


def finished(dsn: str) -> dict[int, list[str]]:
    """Of each message how its attempts ended; `expired` would be one that was delivered twice."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        rows = connection.execute(
            "select message_id, array_agg(outcome order by finished_at) from lonnymq.history group by 1"
        )
        return dict(rows.fetchall())


def left(dsn: str) -> list[Any]:
    """What is in the queue, in streams, and wrong with it."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        queries = (
            "select id::text from lonnymq.message",
            "select stream || seq from lonnymq.claim",
            "select c::text from lonnymq.queue_check() c",
        )
        return [row for query in queries for row in connection.execute(query.encode())]
