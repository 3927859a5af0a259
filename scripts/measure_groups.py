"""Measures what a group costs those who complete its members, beside messages without a group, in one run.

    python scripts/measure_groups.py --messages 1000000 --consumers 8 --batch 100

Half of the messages are members of one sealed group. All are leased first. Then the consumers complete a part of one
half, a part of the other half, and so on, and the times of the parts are added up. Prints messages per second and the
ratio: above 1 the members are faster.
"""

import argparse
import threading
import time
from typing import Any

import psycopg

import lonnymq
from lonnymq.embedded_postgres import temporary

LOAD = """
with stored as (
  insert into lonnymq.message (channel, content, group_id)
  select 'channel ' || i %% 100, 'x', %s::bigint from generate_series(1, %s) as i
)
select lonnymq.message_announce(array(select 'channel ' || i from generate_series(0, 99) as i))
"""
LEASED = "select id, token from lonnymq.message where group_id is not distinct from %s order by dequeued_at, id"
MANY = "select count(*) from lonnymq.message_complete(%s::bigint[], %s::uuid[])"
ONE = "select lonnymq.message_complete(%s, %s::uuid)"
PARTS = 10
HOUR = 3_600_000


def complete(connection: psycopg.Connection[Any], leases: list[Any], batch: int) -> None:
    """Complete leases, one by one or in batches."""
    for start in range(0, len(leases), batch):
        chosen = leases[start : start + batch]
        if batch == 1:
            connection.execute(ONE, chosen[0])
        else:
            connection.execute(MANY, tuple(map(list, zip(*chosen, strict=True))))


def run_part(connections: list[psycopg.Connection[Any]], leases: list[Any], batch: int) -> float:
    """Let all consumers complete a part, and return the seconds."""
    threads = [
        threading.Thread(target=complete, args=(each, leases[index :: len(connections)], batch))
        for index, each in enumerate(connections)
    ]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - began


def measure(dsn: str, messages: int, consumers: int, batch: int) -> None:
    """Load, lease and complete."""
    queue = lonnymq.Queue(dsn)
    queue.install()
    group = queue.group_create("done", b"all")
    with psycopg.connect(dsn, autocommit=True) as connection:
        for each in (None, group):
            connection.execute(LOAD, (each, messages // 2))
        queue.group_seal(group)
        while queue.dequeue(10_000, lease_ms=HOUR):
            pass
        halves = {
            name: connection.execute(LEASED, (each,)).fetchall()
            for name, each in (("none", None), ("group", group))
        }
    connections = [psycopg.connect(dsn, autocommit=True) for _ in range(consumers)]
    seconds = dict.fromkeys(halves, 0.0)
    size = -(-messages // 2 // PARTS)
    for part in range(PARTS):
        for name in sorted(halves, reverse=part % 2 == 0):
            chosen = halves[name][part * size : (part + 1) * size]
            seconds[name] += run_part(connections, chosen, batch)
    for name, taken in seconds.items():
        print(f"{name}: {messages / 2 / taken:,.0f} messages per second")
    print(f"ratio: {seconds['none'] / seconds['group']:.2f}")
    print(queue.group_status(group))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=200_000)
    parser.add_argument("--consumers", type=int, default=8)
    parser.add_argument("--batch", type=int, default=100)
    given = parser.parse_args()
    with temporary() as server:
        measure(server.dsn, given.messages, given.consumers, given.batch)
