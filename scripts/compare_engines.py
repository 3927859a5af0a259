"""Compares two versions of the engine: processor time of one backend per message, side by side on one server.

    python scripts/compare_engines.py ../before/src src --rounds 4

Each side is a folder with a `lonnymq` package, for example of another git worktree, or a copy in which one mechanism
is switched off. The two take turns, and the least of all rounds counts: processor time is steady on a busy machine.
"""

import argparse
import os
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo

from lonnymq.embedded_postgres import temporary

TICKS = os.sysconf("SC_CLK_TCK")
DEQUEUE = (
    "select answer, id, token, cursor from lonnymq.message_dequeue(%s, 30000, 'w', %s::bigint[])"
)
COMPLETE_ONE = "select lonnymq.message_complete(%s::bigint, %s::uuid)"
COMPLETE = "select count(*) from lonnymq.message_complete(%s::bigint[], %s::uuid[])"
CREATE = "select * from lonnymq.message_create(%s, %s)"
FILL = """
select count(*) from lonnymq.message_create_many(
  array(select 'c' || i %% 100 from generate_series(1, %s) i), array_fill('x'::bytea, array[%s]))
"""
LIMIT = """select lonnymq.channel_set('c' || i, '{"max_concurrency": 1000}') from generate_series(0, 99) i"""


class Side:
    """One version of the engine in a database of its own, and one session that uses it."""

    def __init__(self, source: Path, dsn: str) -> None:
        install = "import sys, lonnymq; lonnymq.Queue(sys.argv[1]).install()"
        environment = {**os.environ, "PYTHONPATH": str(source)}
        subprocess.run([sys.executable, "-c", install, dsn], check=True, env=environment)
        self.connection = psycopg.connect(dsn, autocommit=True)
        self.connection.execute("set synchronous_commit = off")
        self.cursor: list[int] | None = None
        self.costs: list[float] = []

    def dequeue(self, limit: int) -> list[Any]:
        """Lease and complete once; the rows of the dequeue."""
        rows = self.connection.execute(DEQUEUE, (limit, self.cursor)).fetchall()
        self.cursor = rows[-1][3]
        leased = [row for row in rows if row[0] == "leased"]
        if limit == 1 and leased:
            self.connection.execute(COMPLETE_ONE, leased[0][1:3])
        elif leased:
            self.connection.execute(COMPLETE, [[row[i] for row in leased] for i in (1, 2)])
        return rows

    def fill(self, count: int) -> None:
        """Create messages over 100 channels."""
        self.connection.execute(FILL.encode(), (count, count))

    def fill_limited(self, count: int) -> None:
        """Create messages over 100 channels that have limits."""
        self.connection.execute(LIMIT.encode())
        self.fill(count)

    def drain(self, count: int, limit: int) -> int:
        """Lease and complete so many messages."""
        left = count
        while left > 0:
            left -= sum(row[0] == "leased" for row in self.dequeue(limit))
        return count

    def pass_through(self, count: int) -> int:
        """Create one and take one, again and again, over 100 channels."""
        for number in range(count):
            self.connection.execute(CREATE, (f"c{number % 100}", b"x" * 100))
            self.drain(1, 1)
        return count

    def empty(self) -> None:
        """Take whatever is left."""
        while self.dequeue(1000)[0][0] != "empty":
            pass

    def processor_seconds(self) -> float:
        """Processor time that the session's backend has used so far."""
        fields = (
            Path(f"/proc/{self.connection.info.backend_pid}/stat")
            .read_text()
            .rsplit(")", 1)[1]
            .split()
        )
        return (int(fields[11]) + int(fields[12])) / TICKS


SHAPES: dict[str, tuple[Callable[[Side], Any], Callable[[Side], int]]] = {
    "create, dequeue, complete; idle": (lambda _: None, lambda side: side.pass_through(400)),
    "the same; 300 waiting": (lambda side: side.fill(300), lambda side: side.pass_through(400)),
    "drain, 1 a call": (lambda side: side.fill(1000), lambda side: side.drain(600, 1)),
    "drain, 100 a call": (lambda side: side.fill(10_000), lambda side: side.drain(10_000, 100)),
    "drain with limits, 100 a call": (
        lambda side: side.fill_limited(10_000),
        lambda side: side.drain(10_000, 100),
    ),
    "drain with limits, 1 a call": (lambda side: side.fill(1000), lambda side: side.drain(600, 1)),
}


def compare(sides: list[Side], shape: str, rounds: int) -> None:
    """Run one shape on both in turn, and print microseconds per message."""
    prepare, run = SHAPES[shape]
    for number in range(rounds):
        for side in sides if number % 2 else sides[::-1]:
            side.empty()
            prepare(side)
            before = side.processor_seconds()
            messages = run(side)
            side.costs.append((side.processor_seconds() - before) / messages * 1e6)
    least = [min(side.costs) for side in sides]
    middle = [statistics.median(side.costs) for side in sides]
    print(
        f"{shape:32} {least[0]:6.0f} µs (median {middle[0]:.0f})  {least[1]:6.0f} µs (median {middle[1]:.0f})"
        f"  {least[1] / least[0]:.2f}x",
        flush=True,
    )
    for side in sides:
        side.costs.clear()


def main() -> None:
    """Compare two sources in all shapes."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sources", nargs=2, type=Path)
    parser.add_argument("--rounds", type=int, default=4)
    asked = parser.parse_args()
    with temporary() as server, psycopg.connect(server.dsn, autocommit=True) as control:
        sides = []
        for number, source in enumerate(asked.sources):
            control.execute(f"create database side_{number}".encode())
            sides.append(Side(source, make_conninfo(server.dsn, dbname=f"side_{number}")))
        for shape in SHAPES:
            compare(sides, shape, asked.rounds)


if __name__ == "__main__":
    main()
