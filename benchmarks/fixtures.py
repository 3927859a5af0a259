"""Our queue at a size: so many channels, waiting, scheduled, or saturated; loaded inside the server."""

from __future__ import annotations

import psycopg

from benchmarks.payload import BYTES
from lonnymq import Queue

# What COPY and message_announce do, without carrying five million rows through a client.
LOAD = """
insert into lonnymq.message (channel, content, dequeue_at)
select %(prefix)s || lpad((n %% %(channels)s)::text, 6, '0'), convert_to(repeat('x', %(bytes)s), 'utf8'), %(at)s
from generate_series(0, %(count)s - 1) n
"""
ANNOUNCE = """
select lonnymq.message_announce(array(
  select %(prefix)s || lpad(n::text, 6, '0') from generate_series(0, %(channels)s - 1) n
))
"""
HOUR_MS = 3_600_000
FAR_FUTURE_MS = 4_102_444_800_000  # the year 2100


def load_messages(
    dsn: str, count: int, channels: int, *, prefix: str = "tenant-", at: int = 0
) -> None:
    """So many messages, dealt out over the channels, committed with their announcement."""
    values = {"count": count, "channels": channels, "prefix": prefix, "at": at, "bytes": BYTES}
    with psycopg.connect(dsn) as connection:
        connection.execute(LOAD, values)
        connection.execute(ANNOUNCE, values)


def saturate_channels(dsn: str, channels: int) -> None:
    """So many channels with a limit of one, one message running for an hour, and one waiting behind it."""
    with Queue(dsn) as queue:
        queue.set(default_max_concurrency=1)
        load_messages(dsn, 2 * channels, channels, prefix="full-")
        left = channels
        while left > 0:
            left -= len(queue.dequeue(1_000, lease_ms=HOUR_MS))
        queue.set(default_max_concurrency=None)


def fold_changes(dsn: str, calls: int = 50) -> None:
    """Let everything that was announced be folded in: take a few, and put as many back."""
    with Queue(dsn) as queue:
        for _ in range(calls):
            for message in queue.dequeue(1):
                message.complete()
                queue.create(message.channel, message.content, dequeue_at=0)
