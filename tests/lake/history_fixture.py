"""Rows of history as tests want them: so many, of a channel, finished at a moment."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

import psycopg

from lonnymq import Queue
from support import eventually

NOON = 1_893_499_200_000  # 2030-01-01T12:00Z
DAY = 86_400_000
INSERT = """
    insert into lonnymq.history (message_id, created_at, dequeue_at, dequeued_at, finished_at, size, attempt, outcome,
      channel, kind, worker, headers, content)
    select i, %(at)s - 30, %(at)s - 30, %(at)s - 20, %(at)s, 100, 1, 'completed', %(channel)s, 'kind', 'worker 1',
      '{"a": 1}', %(content)s
    from generate_series(%(first)s::bigint, %(last)s::bigint) i
"""


def settle(dsn: str, schema: str = "lonnymq") -> None:
    """Wait until no transaction is open that could hold history back: autovacuum has some too."""
    with Queue(dsn, schema=schema) as queue:
        eventually(lambda: not queue.history_lag(0).is_held, within=120)


class HistoryFixture:
    """A database's history; ids go up from 1."""

    def __init__(self, dsn: str) -> None:
        self.dsn = dsn
        self.ids: Iterator[int] = count(1)
        self.made: list[int] = []

    def add(
        self, rows: int = 1, *, channel: str = "acme", at: int = NOON, content: bytes | None = None
    ) -> list[int]:
        """So many rows, in one transaction."""
        with self.adding(rows, channel=channel, at=at, content=content) as added:
            pass
        return added

    def add_each(self, rows: int) -> list[int]:
        """So many rows, in a transaction each."""
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            return [each for _ in range(rows) for each in self.insert(connection, 1)]

    @contextmanager
    def adding(
        self, rows: int = 1, *, channel: str = "acme", at: int = NOON, content: bytes | None = None
    ) -> Iterator[list[int]]:
        """So many rows, in a transaction that stays open for as long as one likes."""
        with psycopg.connect(self.dsn) as connection:
            yield self.insert(connection, rows, channel=channel, at=at, content=content)

    def insert(
        self,
        connection: psycopg.Connection,
        rows: int,
        *,
        channel: str = "acme",
        at: int = NOON,
        content: bytes | None = None,
    ) -> list[int]:
        added = [next(self.ids) for _ in range(rows)]
        known = {"first": added[0], "last": added[-1], "at": at}
        connection.execute(INSERT, {**known, "channel": channel, "content": content})
        self.made += added
        return added
