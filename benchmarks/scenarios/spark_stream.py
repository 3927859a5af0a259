"""The other half of the Spark scenario: the queue as a stream into Parquet, beside COPY; and handlers on executors,
beside plain worker processes."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import psycopg

from benchmarks.entrant import Measurement
from benchmarks.payload import BYTES
from benchmarks.processes import SystemFailed
from benchmarks.run import Run
from benchmarks.scenarios.spark import TimedCase
from benchmarks.server import vacuum_database
from lonnymq import NewMessage, Queue, Worker
from lonnymq.spark import run_workers

CHANNELS = 1_000
TASKS = 4
SLOTS = 1_000  # of a worker whose handlers do nothing
BATCH = 200_000
STREAM, MEMORY, HANDLERS = "stream to Parquet", "memory of a stream's driver", "no-op handlers"
PLAIN = """
import lonnymq

worker = lonnymq.Worker({dsn!r}, concurrency={slots})


@worker.handler("*")
async def nothing() -> None: ...


worker.run(processes={processes})
"""


class StreamBenchmark:
    """The cases, over one session and one server."""

    def __init__(self, run: Run, spark: Any, dsn: str) -> None:
        self.run, self.spark, self.dsn = run, spark, dsn
        self.rows, self.messages = run.rows, max(20_000, run.rows // 5)
        self.held: list[int] = []  # megabytes, from the beginning of a stream to its end

    def streams(self) -> list[TimedCase]:
        return [
            TimedCase(STREAM, "COPY", "rows/s", self.copy),
            TimedCase(STREAM, "lonnymq", "rows/s", self.stream),
            TimedCase(MEMORY, "first half", "MB", lambda: self.max_memory(slice(0, self.middle))),
            TimedCase(
                MEMORY, "second half", "MB", lambda: self.max_memory(slice(self.middle, None))
            ),
        ]

    def handlers(self) -> list[TimedCase]:
        return [
            TimedCase(HANDLERS, "lonnymq on executors", "messages/s", self.workers),
            TimedCase(HANDLERS, "plain workers", "messages/s", self.plain),
        ]

    @property
    def middle(self) -> int:
        return len(self.held) // 2

    # A stream, and what PostgreSQL does at its best

    def copy(self) -> Measurement:
        """COPY of the same rows into the same table."""
        self.clear()
        row = ("channel 1", b"x" * BYTES)
        started = time.perf_counter()
        with psycopg.connect(self.dsn) as connection, connection.cursor() as cursor:
            into = "copy lonnymq.message (channel, content) from stdin (format binary)"
            with cursor.copy(into) as copy:
                copy.set_types(["text", "bytea"])
                for _ in range(self.rows):
                    copy.write_row(row)
            connection.commit()
        return Measurement(self.rows, time.perf_counter() - started)

    def stream(self) -> Measurement:
        self.clear()
        self.fill(self.rows)
        vacuum_database(self.dsn)
        with sample_memory() as self.held:
            return self.stream_once(self.rows)

    def max_memory(self, half: slice) -> Measurement:
        """How much memory the driver had at most in a half of the last stream."""
        return Measurement(max(self.held[half], default=0), 1)

    def stream_once(self, count: int) -> Measurement:
        folder = Path(tempfile.mkdtemp(prefix="lonnymq-bench-"))
        options = {"url": self.dsn, "stream": "bench", "numPartitions": TASKS}
        try:
            source = self.spark.readStream.format("lonnymq").options(**options)
            source = source.option("maxMessagesPerTrigger", BATCH).load("messages")
            sink = source.writeStream.format("parquet").trigger(availableNow=True)
            sink = sink.option("checkpointLocation", str(folder / "checkpoint"))
            started = time.perf_counter()
            sink.option("path", str(folder / "table")).start().awaitTermination()
            measured = Measurement(count, time.perf_counter() - started)
            found = self.spark.read.parquet(str(folder / "table")).select("id").distinct().count()
            if found != count:
                raise SystemFailed(f"{found} messages of {count} were read")
            return measured
        finally:
            shutil.rmtree(folder)
            with Queue(self.dsn) as queue, psycopg.connect(self.dsn, autocommit=True) as connection:
                connection.execute("select lonnymq.stream_drop('bench')")
                if queue.stats().leased:
                    raise SystemFailed("the last batch was not settled")

    # Handlers

    def workers(self) -> Measurement:
        self.clear()
        self.fill(self.messages)
        self.run_workers_once()
        return self.drained()

    def run_workers_once(self) -> None:
        worker = Worker(self.dsn, concurrency=SLOTS)

        @worker.handler("*")
        async def nothing() -> None: ...

        run_workers(self.spark, worker, num_workers=TASKS, until_empty=True, duration=600_000)

    def plain(self) -> Measurement:
        """The same handlers in as many processes of a worker."""
        self.clear()
        self.fill(self.messages)
        program = PLAIN.format(dsn=self.dsn, slots=SLOTS, processes=TASKS)
        process = subprocess.Popen([sys.executable, "-c", program])
        try:
            until = time.monotonic() + 600
            while self.left():
                if process.poll() is not None or time.monotonic() > until:
                    raise SystemFailed("the workers did not end what there was")
                time.sleep(0.1)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)
        return self.drained()

    def drained(self) -> Measurement:
        """From the first lease to the last completion, by the database's clock."""
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            row = connection.execute(
                "select count(*), max(finished_at) - min(dequeued_at) from lonnymq.history"
            ).fetchone()
        if row is None or row[0] != self.messages:
            raise SystemFailed(f"{row} instead of {self.messages} were handled")
        return Measurement(self.messages, row[1] / 1000)

    # The queue

    def clear(self) -> None:
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            connection.execute(
                "truncate lonnymq.message, lonnymq.change, lonnymq.history, lonnymq.lease"
            )
        vacuum_database(self.dsn)

    def fill(self, count: int) -> None:
        content = b"x" * BYTES
        with Queue(self.dsn) as queue:
            queue.copy(NewMessage(content, f"channel {i % CHANNELS}") for i in range(count))

    def left(self) -> int:
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            row = connection.execute(
                "select count(*) from (select from lonnymq.message limit 1) m"
            ).fetchone()
        return row[0] if row else 0


@contextmanager
def sample_memory() -> Iterator[list[int]]:
    """How much memory the driver has, moment by moment."""
    found, until = [measure_memory()], threading.Event()

    def look() -> None:
        while not until.wait(0.2):
            with suppress(psutil.Error):
                found.append(measure_memory())

    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    try:
        yield found
    finally:
        until.set()
        watcher.join()


def measure_memory() -> int:
    """Megabytes that this process and those it has started hold, PostgreSQL's not counted."""
    own = psutil.Process()
    listed = [own, *own.children(recursive=True)]
    mine = [each for each in listed if "postgres" not in each.name()]
    return int(sum(each.memory_info().rss for each in mine) // 2**20)
