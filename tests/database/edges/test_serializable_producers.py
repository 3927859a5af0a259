"""Serializable transactions that create messages in channels of their own do not get in each other's way."""

from __future__ import annotations

from collections.abc import Callable

import psycopg
import pytest

from database.rules.conftest import OpenSession
from database.rules.factories import Session

PRODUCERS = 16
HOUR = 3_600_000


def leave_new(session: Session, channels: list[str]) -> None:
    """Nobody knows these channels yet."""


def leave_idle(session: Session, channels: list[str]) -> None:
    session.create_many(channels)
    session.drain()
    assert session.dequeue() == []


def leave_seated(session: Session, channels: list[str]) -> None:
    session.create_many([each for each in channels for _ in range(3)])
    assert len(session.dequeue(PRODUCERS, HOUR)) == PRODUCERS


Prepare = Callable[[Session, list[str]], None]


def finish(session: Session, statement: str, *values: object) -> int:
    """Run the last statements of a transaction; how often that failed to serialize."""
    try:
        session.rows(statement, *values)
    except psycopg.errors.SerializationFailure:
        session.connection.rollback()
        return 1
    return 0


@pytest.mark.parametrize("options", [{}, {"key": "n"}], ids=["plain", "keyed"])
@pytest.mark.parametrize("prepare", [leave_new, leave_idle, leave_seated])
def test_creates_in_separate_channels_all_commit(
    open_session: OpenSession, dsn_18: str, prepare: Prepare, options: dict[str, str]
) -> None:
    """All begin, then all create, then all commit; nothing is retried."""
    watcher = open_session(dsn_18)
    channels = [f"c{number:02}" for number in range(PRODUCERS)]
    prepare(watcher, channels)
    producers = [open_session(dsn_18) for _ in channels]
    for producer in producers:
        producer.rows("begin isolation level serializable")
        producer.rows("select 1")
    failures = 0
    for producer, channel in zip(producers, channels, strict=True):
        named = "".join(f", p_{name} => %s" for name in options)
        failures += finish(
            producer,
            f"select * from lonnymq.message_create(%s, ''{named})",
            channel,
            *options.values(),
        )
    for producer in producers:
        failures += finish(producer, "commit")
    assert failures == 0


def test_batches_in_separate_channels_all_commit(open_session: OpenSession, dsn_18: str) -> None:
    producers = [open_session(dsn_18) for _ in range(PRODUCERS)]
    failures = 0
    for producer in producers:
        producer.rows("begin isolation level serializable")
    for number, producer in enumerate(producers):
        failures += finish(
            producer,
            "select * from lonnymq.message_create_many(%s::text[], %s::bytea[])",
            [f"c{number}", f"d{number}"],
            [b"", b""],
        )
    for producer in producers:
        failures += finish(producer, "commit")
    assert failures == 0
