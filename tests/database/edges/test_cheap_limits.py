"""Limits are counted without a turn for each consumer, without a change for each channel, and never too generously."""

from __future__ import annotations

import pytest

from database.rules.conftest import OpenSession
from database.rules.factories import Session, numbered


def leased(session: Session) -> int:
    return session.value("select count(*) from lonnymq.message where token is not null")


def test_consumers_lease_at_the_same_time_under_the_limit_of_the_queue(
    open_session: OpenSession, dsn: str
) -> None:
    sessions = [open_session(dsn, impatient=True) for _ in range(4)]
    first = sessions[0]
    first.queue_set(max_concurrency=1_000)
    first.fill("a", 50)
    assert len(first.dequeue(2)) == 2  # splits the limit
    with sessions[0].open(), sessions[1].open(), sessions[2].open():
        for session in sessions[:3]:
            assert len(session.dequeue_once(5)) == 5
        assert len(sessions[3].dequeue_once(5)) == 5
    assert leased(first) == 22
    assert first.check() == []


def test_parts_of_the_limit_of_the_queue_never_exceed_the_limit_together(
    open_session: OpenSession, dsn: str
) -> None:
    sessions = [open_session(dsn, impatient=True) for _ in range(3)]
    session, other, third = sessions
    session.queue_set(max_concurrency=20)
    session.create_many(numbered("tenant-", 40))
    with session.open(), other.open():
        had = len(session.dequeue_once(7)) + len(other.dequeue_once(7))
        assert had + len(third.dequeue_once(30)) <= 20
    third.dequeue(30)
    assert leased(third) == 20
    assert third.dequeue(30) == []
    assert third.check() == []


@pytest.mark.parametrize("lower", [1, 7, 19])
def test_a_lowered_limit_of_the_queue_lets_nothing_through_until_enough_has_ended(
    session: Session, lower: int
) -> None:
    session.queue_set(max_concurrency=40)
    session.create_many(numbered("tenant-", 60))
    held = session.dequeue(25) + session.dequeue(15)
    session.queue_set(max_concurrency=lower)
    for each in held:
        before = leased(session)
        session.dequeue(50)
        assert leased(session) == max(before, lower)
        session.complete(each)
    session.queue_set(max_concurrency=50)
    session.dequeue(60)
    assert leased(session) == min(50, 60 - len(held))
    assert session.check() == []


def test_slots_of_the_queue_that_no_part_can_take_back_are_kept_for_the_next_fold(
    open_session: OpenSession, dsn: str
) -> None:
    session, holder = open_session(dsn, impatient=True), open_session(dsn, impatient=True)
    session.queue_set(max_concurrency=3)
    session.fill("a", 12)
    held = session.dequeue(3)
    with holder.open():
        holder.rows("select from lonnymq.channel_counter where channel_id <= 0 for update")
        session.complete(*held)
        assert session.dequeue_once(9) == []
        assert session.dequeue_once(9) == []
    assert session.check() == []
    assert len(session.dequeue(9)) == 3
    assert session.check() == []


def test_completions_of_many_channels_write_a_single_change(session: Session) -> None:
    names = numbered("tenant-", 30)
    for name in names:
        session.set(name, max_concurrency=1)
    session.create_many(names * 2)
    held = session.dequeue(100)
    assert len(held) == 30
    session.complete(*held)
    assert session.value("select count(*) from lonnymq.change where slot_channels is not null") == 1
    assert session.check() == []
    assert len(session.dequeue(100)) == 30
    assert session.check() == []


def test_slots_of_a_channel_whose_counter_is_held_are_kept_for_the_next_fold(
    open_session: OpenSession, dsn: str
) -> None:
    session, holder = open_session(dsn, impatient=True), open_session(dsn, impatient=True)
    for name in ("a", "b"):
        session.set(name, max_concurrency=1)
        session.fill(name, 5)
    held = session.dequeue(9)
    assert len(held) == 2
    with holder.open():
        holder.rows(
            "select from lonnymq.channel_counter m join lonnymq.channel c on c.id = m.channel_id"
            " where c.name = 'a' for update of m"
        )
        session.complete(*held)
        assert [each.channel for each in session.dequeue_once(9)] == ["b"]
        assert session.check() == []
    assert [each.channel for each in session.dequeue(9)] == ["a"]
    assert session.check() == []


def test_slots_far_from_the_limit_are_given_again_at_once_when_they_are_needed(
    session: Session,
) -> None:
    session.set("a", max_concurrency=200)
    session.fill("a", 500)
    first = session.dequeue(60)
    second = session.dequeue(140)
    assert (len(first), len(second), session.dequeue(10)) == (60, 140, [])
    session.complete(*first[:30])
    assert len(session.dequeue(200)) == 30
    session.complete(*first[30:50])
    session.complete(*second[:50])
    assert len(session.dequeue(60)) == 60  # ten slots are left
    session.complete(*first[50:])
    assert len(session.dequeue(60)) == 20
    assert session.check() == []


def test_a_far_limit_is_counted_in_place(session: Session) -> None:
    session.set("a", max_concurrency=1_000)
    session.fill("a", 200)
    for _ in range(200):
        session.complete(*session.dequeue())
    [(rows, version)] = session.rows(
        "select count(*), max(m.version) from lonnymq.channel_counter m where m.channel_id > 0"
    )
    assert rows == 1
    assert version < 60  # a new version about every sixtieth time, and 400 changes at most
