"""Measures how long each view of the dashboard takes on a large queue, on a server of its own.

.venv/bin/python scripts/measure_dashboard.py --messages 5000000 --channels 100000
"""

from __future__ import annotations

import argparse
import asyncio
import time
from typing import Any

import httpx
import psycopg

from lonnymq.dashboard import create_app
from lonnymq.install import install
from lonnymq.server import temporary

VIEWS = (
    "overview",
    "series?span=day",
    "channels",
    "channels?sort=waiting",
    "channels?sort=oldest",
    "channels?sort=running",
    "channels?sort=rate",
    "channels?sort=dead",
    "channels?search=tenant 999",
    "channels?search=nt 99",
    "channels?state=ready",
    "channel?name=tenant 7",
    "messages?channel=tenant 7",
    "messages/1000",
    "dead/groups",
    "dead",
    "workers",
)
MESSAGES = """
insert into lonnymq.message (channel, content, dequeue_at)
select 'tenant ' || case i %% 10 when 0 then 7 else i %% %(channels)s end,
  convert_to('payload ' || i, 'UTF8'), 1000 + i
from generate_series(1, %(messages)s) as i
"""
NOTES = """
insert into lonnymq.note (channel, dequeue_at, message_id)
select distinct on (channel) channel, dequeue_at, id from lonnymq.message
order by channel, dequeue_at, id
"""
FOLD = "select lonnymq.queue_fold(lonnymq.epoch()) from lonnymq.fold_lock() as mine where mine"
DEAD = """
insert into lonnymq.dead (id, dequeue_at, created_at, died_at, attempt, channel, content, error)
select -i, 1, 1, 1, 5, 'tenant ' || i % 1000, 'x', 'ValueError: ' || i
from generate_series(1, 200000) as i
"""
HISTORY = """
insert into lonnymq.history (message_id, created_at, dequeue_at, dequeued_at, finished_at, size,
  attempt, outcome, channel)
select i, 1, 1, 1, lonnymq.epoch() - i / 10, 1, 1, 'completed', 'tenant ' || i % 1000
from generate_series(1, 1000000) as i
"""


def fill(connection: psycopg.Connection[Any], messages: int, channels: int) -> None:
    """Messages, a tenth of them in one channel; dead ones, attempts that ended, leases."""
    connection.execute("set synchronous_commit = off")
    connection.execute(MESSAGES, {"messages": messages, "channels": channels})
    connection.execute(NOTES)
    while connection.execute("select 1 from lonnymq.note limit 1").fetchone():
        connection.execute(FOLD)
    connection.execute(DEAD)
    connection.execute(HISTORY)
    for _ in range(20):
        connection.execute("select count(*) from lonnymq.message_dequeue(100, 600000)")
    connection.execute("select * from lonnymq.queue_sweep()")


async def measure(dsn: str) -> None:
    """Ask for every view once with nothing at hand, and twice more."""
    app = create_app({"jobs": dsn})
    app.state.site.kept.seconds = 0
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://page", timeout=60) as client:
        for view in VIEWS:
            times = []
            for _ in range(3):
                began = time.perf_counter()
                answer = await client.get(f"/api/queues/jobs/{view}")
                times.append((time.perf_counter() - began) * 1000)
                answer.raise_for_status()
            print(f"{view:28} first {times[0]:6.0f} ms, then {min(times[1:]):6.0f} ms", flush=True)
    await app.state.site.queues["jobs"].close()


def main() -> None:
    """Fill a queue and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=5_000_000)
    parser.add_argument("--channels", type=int, default=100_000)
    given = parser.parse_args()
    with temporary() as server:
        install(server.dsn, schema="lonnymq")
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            fill(connection, given.messages, given.channels)
        asyncio.run(measure(server.dsn))


if __name__ == "__main__":
    main()
