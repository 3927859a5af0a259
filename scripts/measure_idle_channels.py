"""Measures what idle channels cost, on disk and in a dequeue: `python scripts/measure_idle_channels.py 1000000`."""

from __future__ import annotations

import sys
from pathlib import Path

from psycopg import Connection, connect, sql
from psycopg.conninfo import make_conninfo

from lonnymq import NewMessage, Queue
from lonnymq.embedded_postgres import temporary

TABLES = ("channel", "channel_position", "channel_counter")
FILL = """
select lonnymq.channel_insert(array_agg('tenant-' || lpad(i::text, 8, '0')), lonnymq.epoch())
from generate_series(%s::integer, %s::integer) as i
"""
SIZE = """
select sum(pg_total_relation_size(c.oid)) from pg_class c
where c.relnamespace = 'lonnymq'::regnamespace and c.relname = any (%s)
"""
STEP, ROUNDS, CALLS = 20_000, 40, 25


def fill(connection: Connection, idle: int) -> None:
    """Make channels as the engine does with their first message, and print what one takes on disk."""
    [before] = connection.execute(SIZE, [list(TABLES)]).fetchone() or [0]
    for first in range(0, idle, STEP):
        connection.execute(FILL, (first, min(first + STEP, idle) - 1))
    connection.execute("vacuum analyze")
    [after] = connection.execute(SIZE, [list(TABLES)]).fetchone() or [0]
    print(f"{idle:,} idle channels: {(after - before) / idle:.0f} bytes each, with indexes")


def spent(connection: Connection) -> float:
    """How many microseconds of CPU the backend has used."""
    text = Path(f"/proc/{connection.info.backend_pid}/schedstat").read_text()
    return int(text.split()[0]) / 1000


def time_calls(queue: Queue, connection: Connection) -> list[float]:
    """Dequeue one message, again and again; each message is created anew after its completion."""
    times = []
    for _ in range(CALLS):
        before = spent(connection)
        batch = queue.dequeue()
        times.append(spent(connection) - before)
        for message in batch:
            message.complete()
            queue.create(message.channel, message.content, dequeue_at=0)
    return times


def main(idle: int) -> None:
    """Print the CPU time of dequeues beside so many idle channels and beside none, taken in turns."""
    cases = {"10 channels": (0, 10), f"1,000 of {idle:,} channels": (idle, 1_000)}
    with temporary() as server, connect(server.dsn, autocommit=True) as administrator:
        opened: dict[str, tuple[Queue, Connection]] = {}
        times: dict[str, list[float]] = {name: [] for name in cases}
        for number, (name, (others, active)) in enumerate(cases.items()):
            database = sql.Identifier(f"case_{number}")
            administrator.execute(sql.SQL("create database {}").format(database))
            dsn = make_conninfo(server.dsn, dbname=f"case_{number}")
            connection = connect(dsn, autocommit=True)
            queue = Queue(connection)
            queue.install()
            if others:
                fill(connection, others)
            step = max(1, others // active)
            queue.copy(
                NewMessage(bytes(200), channel=f"tenant-{each % active * step:08}")
                for each in range(active * 5)
            )
            queue.dequeue()
            opened[name] = (queue, connection)
        for _ in range(ROUNDS):
            for name, (queue, connection) in opened.items():
                times[name] += time_calls(queue, connection)
        for name, found in times.items():
            found.sort()
            half, far = found[len(found) // 2], found[len(found) * 99 // 100]
            print(f"{name}: p50 {half:,.0f} µs, p99 {far:,.0f} µs of CPU")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
