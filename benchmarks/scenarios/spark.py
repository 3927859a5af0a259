"""(l) Spark: a DataFrame into the queue and history into Parquet, beside Spark's own JDBC, which writes and reads the
same tables of the same server. JDBC reads through one connection, unless somebody who knows the least and the greatest
of a column cuts the table for it: both are measured.

What is compared takes turns, and is done once before it is timed: Java compiles what it has run for a while, and Spark
ends a Python process that has had nothing to do for a minute."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from benchmarks.entrant import Measurement, time_call
from benchmarks.payload import BYTES
from benchmarks.processes import SystemFailed
from benchmarks.run import Run
from benchmarks.server import SETTINGS, vacuum_database
from lonnymq import Queue
from lonnymq.embedded_postgres import temporary

JAR = Path("/usr/share/java/postgresql.jar")
DRIVER = "org.postgresql.Driver"
JDBC = "Spark JDBC"
BY_HAND = "Spark JDBC, cut by hand"
UNKNOWN = ("xid", "headers")
CHANNELS = 1_000
TASKS = 4
# What a user of JDBC would write: the table is the queue's, with its indexes, and nobody tells the queue.
REWRITTEN = "reWriteBatchedInserts=true"
FINISHED = """
    insert into lonnymq.history (message_id, created_at, dequeue_at, dequeued_at, finished_at, size, attempt, outcome,
      channel, kind, worker)
    select i, 1893456000000 + i, 1893456000000 + i, 1893456000010 + i, 1893456000020 + i, 100, 1, 'completed',
      'channel ' || i %% %s, 'kind', 'worker 1'
    from generate_series(1, %s) i
"""


@dataclass(frozen=True)
class TimedCase:
    """What one system does when its turn comes."""

    what: str
    name: str
    unit: str
    take: Callable[[], Measurement]


def run(run: Run) -> None:
    from benchmarks.scenarios.spark_stream import StreamBenchmark  # needs Spark, as session does

    with start_server() as dsn, open_session() as spark:
        load_history(dsn, run.rows)
        bench, streams = (
            TableBenchmark(run, spark, dsn),
            StreamBenchmark(run, spark, create_second_queue(dsn)),
        )
        for cases in (bench.writes(), bench.reads(), streams.streams(), streams.handlers()):
            run_cases(run, cases)


def run_cases(run: Run, cases: list[TimedCase]) -> None:
    """Each once without being timed, and then in rounds."""
    for case in cases:
        with suppress(SystemFailed):  # which is written down in the first round
            case.take()
    for _ in range(run.repeat):
        for case in cases:
            run.sample("spark", {"what": case.what}, case.name, case.unit, case.take)


class TableBenchmark:
    """Writes and reads, over one session and one server."""

    def __init__(self, run: Run, spark: Any, dsn: str) -> None:
        self.run, self.spark, self.dsn, self.rows = run, spark, dsn, run.rows
        history = spark.read.format("lonnymq").option("url", dsn).load("history").schema
        self.known = [field for field in history if field.name not in UNKNOWN]

    def writes(self) -> list[TimedCase]:
        return [
            self.write("lonnymq", self.ours),
            self.write(JDBC, self.jdbc),
        ]

    def reads(self) -> list[TimedCase]:
        return [
            self.read("lonnymq", self.our_history),
            self.read(JDBC, self.jdbc_history),
            self.read(BY_HAND, lambda: self.jdbc_history(**partition_options(self.rows))),
        ]

    def frame(self, rows: int) -> Any:
        """Rows that cost next to nothing to make."""
        channel = f"concat('channel ', id % {CHANNELS}) as channel"
        content = f"cast(repeat('x', {BYTES}) as binary) as content"
        return self.spark.range(0, rows, 1, TASKS).selectExpr(channel, content)

    def ours(self, frame: Any) -> None:
        frame.write.format("lonnymq").mode("append").option("url", self.dsn).save()

    def jdbc(self, frame: Any) -> None:
        require_jar()
        options: dict[str, str | int] = {
            "url": f"{jdbc_url(self.dsn)}&{REWRITTEN}",
            "dbtable": "lonnymq.message",
        }
        options |= {"driver": DRIVER, "batchsize": 10_000, "numPartitions": TASKS}
        frame.write.format("jdbc").mode("append").options(**options).save()

    def our_history(self) -> Any:
        """Without the two columns whose types JDBC does not know."""
        from pyspark.sql.types import StructType

        read = self.spark.read.format("lonnymq").option("url", self.dsn)
        return read.option("numPartitions", TASKS).schema(StructType(self.known)).load("history")

    def jdbc_history(self, **options: Any) -> Any:
        require_jar()
        columns = ", ".join(field.name for field in self.known)
        table = f"(select {columns} from lonnymq.history) h"
        return read_jdbc(self.spark, self.dsn, table, **options)

    def write(self, name: str, write: Callable[[Any], None]) -> TimedCase:
        def take() -> Measurement:
            with psycopg.connect(self.dsn, autocommit=True) as connection:
                connection.execute("truncate lonnymq.message, lonnymq.change")
            vacuum_database(self.dsn)
            measured = time_call(self.rows, lambda: write(self.frame(self.rows)))
            self.check(self.rows)
            return measured

        return TimedCase("write", name, "rows/s", take)

    def read(self, name: str, frame: Callable[[], Any]) -> TimedCase:
        def take() -> Measurement:
            folder = Path(tempfile.mkdtemp(prefix="lonnymq-bench-"))
            try:
                target = str(folder / "history")
                measured = time_call(self.rows, lambda: frame().write.parquet(target))
                found = self.spark.read.parquet(target).count()
                if found != self.rows:
                    raise SystemFailed(f"{found} rows of {self.rows} were read")
                return measured
            finally:
                shutil.rmtree(folder)

        return TimedCase("history to Parquet", name, "rows/s", take)

    def check(self, rows: int) -> None:
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            found = connection.execute("select count(*) from lonnymq.message").fetchone()
        if found != (rows,):
            raise SystemFailed(f"{found} rows of {rows} were written")


def require_jar() -> None:
    if not JAR.exists():
        raise SystemFailed(
            "needs Debian's libpostgresql-jdbc-java: scripts/system-packages installs it"
        )


@contextmanager
def start_server() -> Iterator[str]:
    """A server like the others', that also listens on a port of this machine: JDBC knows no sockets but those."""
    # Linux has as many addresses for itself as one could want: somebody else's server may have the first.
    address = f"127.0.0.{2 + os.getpid() % 250}" if sys.platform == "linux" else "127.0.0.1"
    with temporary(on_disk=True, listen_addresses=address, **SETTINGS):
        dsn = f"postgresql://postgres@{address}:5432/postgres"
        Queue(dsn).install()
        yield dsn


def create_second_queue(dsn: str) -> str:
    """A second queue on the same server."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("create database streams")
    other = dsn.rpartition("/")[0] + "/streams"
    Queue(other).install()
    return other


@contextmanager
def open_session() -> Iterator[Any]:
    import lonnymq.spark

    config = {"spark.ui.enabled": "false", "spark.driver.memory": "2g"}
    if JAR.exists():
        config["spark.jars"] = str(JAR)
    spark = lonnymq.spark.session(f"local[{TASKS}]", config=config)
    spark.sparkContext.setLogLevel("ERROR")
    try:
        yield spark
    finally:
        spark.stop()


def load_history(dsn: str, rows: int) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(FINISHED, (CHANNELS, rows))
        connection.execute("vacuum analyze lonnymq.history")


def read_jdbc(spark: Any, dsn: str, table: str, **options: Any) -> Any:
    """A table as Spark's JDBC reads it, some rows at a time rather than all at once."""
    given = {"url": jdbc_url(dsn), "driver": DRIVER, "dbtable": table, "fetchsize": 10_000}
    return spark.read.format("jdbc").options(**given, **options).load()


def partition_options(rows: int) -> dict[str, Any]:
    """What JDBC must be told to read history in parts."""
    bounds = {"partitionColumn": "message_id", "lowerBound": 1, "upperBound": rows}
    return {**bounds, "numPartitions": TASKS}


def jdbc_url(dsn: str) -> str:
    return f"jdbc:{dsn.replace('postgres@', '')}?user=postgres"
