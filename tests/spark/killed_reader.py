"""A program that reads a queue's stream into a table, and kills itself and its Spark at a point of its choice.

    python dying.py claimed|reading|written|late dsn folder

claimed: the claim is made, Spark has not yet written that down. reading: some tasks of the batch have written their
part. written: the table has the batch, Spark has not yet written that down. late: it does not die, but stands still
there until it is told to go on.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

from pyspark.sql.datasource import DataSourceStreamReader
from pyspark.sql.types import StructType

import lonnymq.spark
from lonnymq.spark.data_source import LonnyMQDataSource
from lonnymq.spark.stream.reader import StreamReader
from spark.streams import Table
from support import eventually

POINT, DSN, FOLDER = sys.argv[1:] if len(sys.argv) == 4 else ("", "", "")


def die() -> None:
    """End this program and its Java as a power cut would, whichever of its processes says so."""
    os.killpg(int(Path(os.environ["DYING_FOLDER"], "group").read_text()), signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


class KilledReader(StreamReader):
    """Dies once a claim is made."""

    def latestOffset(self, start: Any, limit: Any) -> Any:  # noqa: N802
        end = super().latestOffset(start, limit)
        if end != start:
            die()
        return end


class DyingSource(LonnyMQDataSource):
    """The format, with that reader."""

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        return KilledReader(self.options, schema)


class DyingTable(Table):
    """Dies in the middle of a batch, or after it."""

    def write(self, batch: Any, number: int) -> None:
        if POINT == "reading":
            batch = batch.mapInArrow(die_at_the_second, batch.schema)
        super().write(batch, number)
        if POINT == "written":
            die()
        if POINT == "late":
            (self.folder / "standing").touch()
            eventually((self.folder / "go").exists, within=400)


def die_at_the_second(batches: Any) -> Any:
    """Let the first task's rows through, and die in the second."""
    from pyspark import TaskContext

    context = TaskContext.get()
    yield from batches
    if context and context.partitionId() == 1:
        die()


def main() -> None:
    spark = lonnymq.spark.session("local[1]", config={"spark.ui.enabled": "false"})
    Path(os.environ["DYING_FOLDER"], "group").write_text(str(os.getpgid(0)))
    if POINT == "claimed":
        spark.dataSource.register(DyingSource)
    DyingTable(spark, DSN, Path(FOLDER), maxMessagesPerTrigger=60).run()


if __name__ == "__main__":
    main()
