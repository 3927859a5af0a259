"""A program that writes from a cluster: an executor is killed with -9, and a slow task gets a second copy.

    python writing_on_cluster.py master dsn folder

The copy wins, and Spark kills the slow task with half of its rows written.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark import TaskContext

import lonnymq.spark
from lonnymq.spark.spark_session import send_library

ROWS, TASKS = 8_000, 4


def claim(marker: Path) -> bool:
    """Whether nobody was here before."""
    try:
        os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


def interrupt_tasks(folder: Path) -> Any:
    """Let half the rows of a task through; then the first task kills its executor, and the last one is slow, once."""

    def work(batches: Iterator[Any]) -> Iterator[Any]:
        context, rows = TaskContext.get(), 0
        assert context is not None
        partition = context.partitionId()
        for batch in batches:
            if rows >= ROWS / TASKS / 2:
                if partition == 0 and claim(folder / "killed"):
                    with open(f"/proc/{os.getppid()}/stat") as stat:  # its parent is the executor
                        os.kill(int(stat.read().rpartition(")")[2].split()[1]), signal.SIGKILL)
                if partition == TASKS - 1 and claim(folder / "slow"):
                    time.sleep(300)
            rows += batch.num_rows
            yield batch

    return work


def main(master: str, dsn: str, folder: str) -> None:
    config = {
        "spark.ui.enabled": "false",
        "spark.executor.memory": "512m",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "100",
        "spark.speculation": "true",
        "spark.speculation.quantile": "0.5",
        "spark.speculation.interval": "200ms",
    }
    spark = lonnymq.spark.session(master, config=config)
    spark.sparkContext.setLogLevel("ERROR")
    send_library(spark)
    columns = "'a' as channel", "concat(id, repeat('.', 500)) as content"
    frame = spark.range(0, ROWS, 1, TASKS).selectExpr(*columns)
    broken = frame.mapInArrow(interrupt_tasks(Path(folder)), frame.schema)
    broken.write.format("lonnymq").mode("append").option("url", dsn).save()
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
