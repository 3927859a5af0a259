"""A setting that is committed holds for every dequeue that begins after that, however busy the queue is."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from database.edges.breakpoint import Breakpoint
from database.rules.conftest import OpenSession
from database.rules.factories import Session, numbered

HOUR = 3_600_000


def pause(session: Session, channel: str) -> None:
    session.rows("select lonnymq.channel_pause(%s)", channel)


def lower_limit(session: Session, channel: str) -> None:
    session.set(channel, max_concurrency=1)


def limit_queue(session: Session, channel: str) -> None:
    session.queue_set(max_concurrency=1)


Setting = Callable[[Session, str], None]


def leave_notes(producer: Session, count: int) -> None:
    """Leave so many notes to be folded, of channels whose messages are due in an hour."""
    for begin in range(0, count, 10_000):
        producer.create_many(numbered(f"later {begin} ", 10_000), delays_ms=[HOUR] * 10_000)


@pytest.mark.long
@pytest.mark.parametrize("setting", [pause, lower_limit, limit_queue])
def test_a_setting_is_obeyed_behind_more_notes_than_a_dequeue_folds(
    open_session: OpenSession, dsn_18: str, setting: Setting
) -> None:
    producer, consumer = open_session(dsn_18), open_session(dsn_18)
    producer.set("a", max_concurrency=8)
    producer.fill("a", 12)
    assert len(consumer.dequeue(3)) == 3
    leave_notes(producer, 30_000)
    setting(producer, "a")
    had = consumer.dequeue_once()
    while consumer.answer == "contended":
        had += consumer.dequeue_once()
    assert had == []


@pytest.mark.parametrize("limit", [1, 5])
@pytest.mark.parametrize("setting", [pause, lower_limit, limit_queue])
def test_a_setting_is_obeyed_while_another_dequeue_is_open(
    open_session: OpenSession, dsn: str, setting: Setting, limit: int
) -> None:
    producer, other, consumer = (open_session(dsn) for _ in range(3))
    producer.fill("a", 12)
    assert len(consumer.dequeue(3)) == 3
    with other.open():
        assert len(other.dequeue_once()) == 1
        setting(producer, "a")
        had = consumer.dequeue_once(limit)
    had += consumer.dequeue(limit)
    assert had == []


@pytest.mark.parametrize("setting", [pause, lower_limit])
def test_a_setting_is_obeyed_that_was_committed_while_another_dequeue_had_the_channel(
    open_session: OpenSession, dsn_18: str, setting: Setting
) -> None:
    """The other one ends when the dequeue has looked at the clock for the first, second, third … time."""
    producer, folder, other, consumer = (open_session(dsn_18) for _ in range(4))
    breakpoint_ = Breakpoint(open_session(dsn_18))
    disobeyed = []
    for reading in range(1, 5):
        channel = f"c{reading}"
        producer.set(channel, max_concurrency=8)
        producer.fill(channel, 12)
        folder.maintain()  # seats the channel
        with other.open():
            with folder.open():
                folder.maintain()  # has the fold lock, so that the next one only locks the channel
                assert len(other.dequeue_once()) == 1
            setting(producer, channel)
            call = breakpoint_.stop(consumer, reading, lambda: consumer.dequeue_once(3))
        had = breakpoint_.resume(consumer, call)
        had += consumer.dequeue(3)
        disobeyed += [(reading, len(had))] if had else []
        producer.rows("select lonnymq.channel_pause(%s)", channel)
        consumer.dequeue()
    assert disobeyed == []
