"""A program that uses the queue from a cluster whose executors do not have the library.

    python on_cluster.py master python dsn folder

Reads the stream into a table, and has an executor killed with -9 in the middle of it; then works the rest off with
handlers. Prints what it saw, as JSON.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import lonnymq.spark
from lonnymq import NewMessage, Queue
from lonnymq.spark.spark_session import send_library
from lonnymq.worker import Worker
from spark.streams import Table


def has_library(_: int) -> bool:
    from importlib.util import find_spec

    return find_spec("lonnymq") is not None


def killing(marker: str) -> Any:
    """Let rows through; the first task that comes here kills its executor, once."""

    def work(batches: Any) -> Any:
        yield from batches
        try:
            os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return
        with open(f"/proc/{os.getppid()}/stat") as stat:  # whose parent is the executor's Java
            os.kill(int(stat.read().rpartition(")")[2].split()[1]), signal.SIGKILL)

    return work


class KillingTable(Table):
    def write(self, batch: Any, number: int) -> None:
        marked = batch.mapInArrow(killing(str(self.folder / "killed")), batch.schema)
        super().write(marked, number)


def main(master: str, python: str, dsn: str, folder: str) -> None:
    config = {
        "spark.ui.enabled": "false",
        "spark.pyspark.python": python,
        "spark.executor.memory": "512m",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
    }
    spark = lonnymq.spark.session(master, config=config)
    spark.sparkContext.setLogLevel("ERROR")
    before = spark.sparkContext.parallelize(range(2), 2).map(has_library).collect()
    send_library(spark)
    table = KillingTable(spark, dsn, Path(folder), maxMessagesPerTrigger=60)
    table.run()
    worker = Worker(dsn)

    @worker.handler("resize", max_attempts=1)
    async def resize(width: int) -> None:
        if width == 3:
            raise ValueError("three is too many")

    queue = Queue(dsn)
    queue.create_many([NewMessage(b"%d" % each, "later", kind="resize") for each in range(4)])
    rows = lonnymq.spark.run_workers(
        spark, worker, num_workers=2, until_empty=True, duration=60_000
    )
    seen = {
        "has_library": before,
        "killed": Path(folder, "killed").exists(),
        "ids": table.ids(),
        "answers": sorted([row.id, row.answer, row.error] for row in rows.collect()),
    }
    print(json.dumps(seen))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
