"""A job for `spark-submit`: reads the stream into a table, writes rows, has handlers run. Prints what it saw, as JSON.

spark-submit … submitted.py dsn folder
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import lonnymq.spark
from lonnymq import Worker
from spark.streams import Table


def where(_: int) -> list[str]:
    """What an executor runs, and where it has the library from."""
    import lonnymq

    return [sys.prefix, lonnymq.__file__]


def main(dsn: str, folder: Path) -> None:
    spark = lonnymq.spark.session()
    spark.sparkContext.setLogLevel("ERROR")
    executors = spark.sparkContext.parallelize(range(2), 2).map(where).collect()
    table = Table(spark, dsn, folder, maxMessagesPerTrigger=60)
    table.run()
    frame = spark.range(0, 2_000, 1, 2).selectExpr(
        "'later' as channel", "'count' as kind", "concat(id, repeat(' ', 500)) as content"
    )
    frame.write.format("lonnymq").mode("append").option("url", dsn).save()
    worker = Worker(dsn, concurrency=50)

    @worker.handler("count")
    async def count(number: int) -> None:
        assert number >= 0

    rows = lonnymq.spark.run_workers(
        spark, worker, num_workers=2, until_empty=True, duration=120_000
    )
    answers = {row["answer"]: row["count"] for row in rows.groupBy("answer").count().collect()}
    read = spark.read.format("lonnymq").option("url", dsn).load("history").count()
    seen = {
        "driver": [sys.prefix, lonnymq.__file__],
        "executors": executors,
        "ids": table.ids(),
        "answers": answers,
        "history": read,
    }
    print(json.dumps(seen))
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
