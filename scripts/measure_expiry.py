"""Measures leases that run out together: how fast they are delivered again, and how long another tenant waits.

    python scripts/measure_expiry.py --messages 1000000 --batch 500

All messages are leased until the same moment. Then the consumers start, with maintenance every second. A consumer of
one message a call stands for the others: its calls are timed. Another tenant creates a message every 50 ms, and the
time until any consumer has it is that tenant's wait.
"""

import argparse
import statistics
import threading
import time
from typing import Any

import psycopg

import lonnymq
from lonnymq.embedded_postgres import temporary

LOAD = """
insert into lonnymq.message (channel, content)
select 'fleet ' || i %% %s, 'x' from generate_series(1, %s) as i
"""
ANNOUNCE = (
    "select lonnymq.message_announce(array(select 'fleet ' || i from generate_series(0, %s) i))"
)
DEQUEUE = """
select answer, channel, created_at, dequeued_at, cursor
from lonnymq.message_dequeue(%s, %s, null, %s::bigint[])
"""
HOUR = 3_600_000


class Measurement:
    """One server, and what its consumers have seen."""

    def __init__(self, dsn: str, messages: int) -> None:
        self.dsn, self.left = dsn, messages
        self.calls: list[float] = []
        self.waits: list[float] = []
        self.lock = threading.Lock()
        self.done = threading.Event()

    def connect(self) -> psycopg.Connection[Any]:
        """Open a connection of one's own."""
        return psycopg.connect(self.dsn, autocommit=True)

    def consume(self, batch: int) -> None:
        """Lease until all messages are back."""
        cursor = None
        with self.connect() as connection:
            while not self.done.is_set():
                began = time.perf_counter()
                rows = connection.execute(DEQUEUE, (batch, HOUR, cursor)).fetchall()
                took, cursor = (time.perf_counter() - began) * 1000, rows[-1][4]
                self.count(
                    [row for row in rows if row[0] == "leased"], took if batch == 1 else None
                )

    def count(self, rows: list[Any], took: float | None) -> None:
        """Count the messages of a call, and the time that the call took."""
        others = [row[3] - row[2] for row in rows if row[1] == "another tenant"]
        with self.lock:
            self.calls += [took] if took is not None else []
            self.waits += others
            self.left -= len(rows) - len(others)
            if self.left <= 0:
                self.done.set()

    def create(self) -> None:
        """The other tenant."""
        with self.connect() as connection:
            while not self.done.wait(0.05):
                connection.execute("select lonnymq.message_create('another tenant', 'x')")

    def maintain(self) -> None:
        """Maintenance, as a worker does it."""
        with self.connect() as connection:
            while not self.done.wait(1):
                connection.execute("select lonnymq.queue_maintain()")


def prepare(measurement: Measurement, messages: int, channels: int) -> None:
    """Create and lease everything, and wait until all leases have run out."""
    with measurement.connect() as connection:
        connection.execute("""select lonnymq.queue_set('{"default_max_attempts": 1000}')""")
        with connection.transaction():
            connection.execute(LOAD.encode(), (channels, messages))
            connection.execute(ANNOUNCE, (channels - 1,))
        end, left, cursor = time.time() + 10 + messages / 12_000, messages, None
        while left:
            lease_ms = max(1, int((end - time.time()) * 1000))
            rows = connection.execute(DEQUEUE, (10_000, lease_ms, cursor)).fetchall()
            left, cursor = left - sum(row[0] == "leased" for row in rows), rows[-1][4]
        print(f"{messages} leased, {end - time.time():.0f} s before their leases end", flush=True)
        connection.execute("vacuum analyze lonnymq.message")
        time.sleep(max(0, end - time.time()))


def percentile(values: list[float], share: float) -> float:
    """The value below which that share of the values is."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def main() -> None:
    """Measure once and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, default in (
        ("messages", 1_000_000),
        ("channels", 10),
        ("batch", 500),
        ("consumers", 2),
    ):
        parser.add_argument(f"--{name}", type=int, default=default)
    asked = parser.parse_args()
    with temporary() as server:
        with lonnymq.Queue(server.dsn) as queue:
            queue.install()
        measurement = Measurement(server.dsn, asked.messages)
        prepare(measurement, asked.messages, asked.channels)
        work = [
            threading.Thread(target=measurement.consume, args=(asked.batch,))
            for _ in range(asked.consumers)
        ]
        work += [
            threading.Thread(target=measurement.consume, args=(1,)),
            threading.Thread(target=measurement.create),
            threading.Thread(target=measurement.maintain),
        ]
        began = time.perf_counter()
        for thread in work:
            thread.start()
        for thread in work:
            thread.join()
        took = time.perf_counter() - began
    calls, waits = measurement.calls, measurement.waits or [0.0]
    print(
        f"{asked.messages} messages in {asked.channels} channels, {asked.consumers} consumers of"
        f" {asked.batch}: {asked.messages / took:.0f} a second\n"
        f"dequeues of one message: {len(calls)} calls, median {statistics.median(calls):.1f} ms,"
        f" p99 {percentile(calls, 0.99):.1f} ms, longest {max(calls):.0f} ms\n"
        f"another tenant's messages: {len(waits)}, median wait {statistics.median(waits):.0f} ms,"
        f" p99 {percentile(waits, 0.99):.0f} ms"
    )


if __name__ == "__main__":
    main()
