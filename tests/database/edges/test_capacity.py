"""A channel's capacity is counted exactly, at every isolation level, for announced loads, and at a small cost."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from database.rules.conftest import OpenSession
from database.rules.factories import Session

ISOLATIONS = ["read committed", "repeatable read", "serializable"]
HOUR = 3_600_000
CREATE = "select * from lonnymq.message_create('a', '')"


@contextmanager
def transaction(session: Session, isolation: str) -> Iterator[None]:
    """A transaction of this isolation, whose snapshot is taken now and whose id is not assigned yet."""
    with session.connection.transaction():
        session.rows(f"set transaction isolation level {isolation}")
        session.rows("select count(*) from lonnymq.message")
        yield


def fold(session: Session) -> None:
    """Have what was told taken in: another channel's messages go through the queue, and it is swept."""
    for _ in range(3):
        session.create_many(["else", "else"])
        session.maintain()
        session.complete(*(each for each in session.dequeue(20, HOUR) if each.channel == "else"))


def held_messages(session: Session) -> int:
    return session.value("select count(*) from lonnymq.message where channel = 'a'")


def fill_up(session: Session) -> int:
    """Create until the channel rejects, and return how many it holds then."""
    for _ in range(100):
        if session.create_answer("a").answer != "created":
            break
    return held_messages(session)


def end_all(session: Session) -> None:
    """Every message of the channel ends, whoever has it."""
    session.rows(
        "select * from lonnymq.message_complete(array(select id from lonnymq.message where token is not null),"
        " array(select token from lonnymq.message where token is not null))"
    )
    session.rows("select lonnymq.message_purge('a', 10000)")


@pytest.mark.parametrize("isolation", ISOLATIONS)
def test_creates_of_a_transaction_that_began_before_the_capacity_was_set_are_counted(
    open_session: OpenSession, dsn: str, isolation: str
) -> None:
    setter, producer = open_session(dsn), open_session(dsn)
    setter.create("a")
    fold(setter)
    with transaction(producer, isolation):
        setter.set("a", max_size=5)
        fold(setter)
        for _ in range(2):
            producer.create("a")
    fold(setter)
    assert fill_up(setter) == 5
    end_all(setter)
    fold(setter)
    assert fill_up(setter) == 5
    assert setter.check() == []


@pytest.mark.parametrize("isolation", ISOLATIONS)
def test_completions_of_a_transaction_that_began_before_the_capacity_was_set_are_counted(
    open_session: OpenSession, dsn: str, isolation: str
) -> None:
    setter, worker = open_session(dsn), open_session(dsn)
    setter.fill("a", 5)
    leases = worker.dequeue(5, HOUR)
    with transaction(worker, isolation):
        setter.set("a", max_size=5)
        fold(setter)
        assert worker.complete(*leases) == ["completed"] * 5
    fold(setter)
    assert held_messages(setter) == 0
    assert fill_up(setter) == 5
    assert setter.check() == []


@pytest.mark.parametrize("isolation", ISOLATIONS)
@pytest.mark.parametrize("how", ["create", "complete"])
def test_a_transaction_that_was_open_when_the_capacity_was_set_is_counted(
    open_session: OpenSession, dsn_18: str, isolation: str, how: str
) -> None:
    setter, other = open_session(dsn_18), open_session(dsn_18)
    setter.fill("a", 4)
    leases = other.dequeue(2, HOUR)
    with transaction(other, isolation):
        if how == "create":
            other.create("a")
        else:
            other.complete(*leases)
        setter.set("a", max_size=6)
        fold(setter)
    answer = setter.create_answer("a")
    assert (answer.answer, answer.size) == ("created", held_messages(setter))
    fold(setter)
    assert fill_up(setter) == 6
    end_all(setter)
    fold(setter)
    assert fill_up(setter) == 6
    assert setter.check() == []


@pytest.mark.parametrize("isolation", ISOLATIONS)
def test_a_capacity_that_is_taken_away_and_comes_back_counts_right_for_old_snapshots(
    open_session: OpenSession, dsn_18: str, isolation: str
) -> None:
    setter, other = open_session(dsn_18), open_session(dsn_18)
    setter.set("a", max_size=5)
    setter.fill("a", 2)
    fold(setter)
    with transaction(other, isolation):
        setter.set("a", max_size=None)
        fold(setter)
        other.create("a")
        setter.set("a", max_size=6)
        fold(setter)
        other.create("a")
    fold(setter)
    assert fill_up(setter) == 6
    end_all(setter)
    fold(setter)
    assert fill_up(setter) == 6
    assert setter.check() == []


def test_what_came_between_two_capacities_counts_before_either_change_is_folded(
    open_session: OpenSession, dsn: str
) -> None:
    session = open_session(dsn)
    session.set("a", max_size=5)
    session.fill("a", 2)
    fold(session)
    session.set("a", max_size=None)
    session.create("a")
    session.set("a", max_size=6)
    assert session.create_answer("a").size == 4
    fold(session)
    assert fill_up(session) == 6
    assert session.check() == []


def load(session: Session, count: int) -> None:
    """Load messages by COPY and announce them, in the transaction that is open."""
    cursor = session.connection.cursor()
    with cursor.copy("copy lonnymq.message (channel, content) from stdin") as copy:
        for _ in range(count):
            copy.write_row(("a", b""))
    session.rows("select lonnymq.message_announce(array['a'])")


def test_what_was_loaded_and_announced_counts_at_once(open_session: OpenSession, dsn: str) -> None:
    session = open_session(dsn)
    session.set("a", max_size=5)
    session.create("a")
    fold(session)
    with session.open():
        load(session, 3)
        within = session.create_answer("a")
    after = session.create_answer("a")
    assert (within.answer, within.size) == ("created", 5)
    assert (after.answer, after.reason, after.size) == ("rejected", "full", 5)
    end_all(session)
    fold(session)
    assert fill_up(session) == 5
    assert session.check() == []


def test_a_load_that_is_rolled_back_leaves_no_count_behind(
    open_session: OpenSession, dsn: str
) -> None:
    session = open_session(dsn)
    session.set("a", max_size=5)
    session.create("a")
    fold(session)
    with session.connection.transaction(force_rollback=True):
        load(session, 30)
        within = session.create_answer("a")
    assert (within.answer, within.size) == ("rejected", 31)
    assert fill_up(session) == 5
    assert session.check() == []


def test_a_create_costs_no_more_with_a_backlog_beside_an_open_transaction(
    open_session: OpenSession, dsn_18: str
) -> None:
    """Pages that a create touches when a capacity was just set, with 1,000 and with 31,000 messages waiting."""
    session, other = open_session(dsn_18), open_session(dsn_18)
    pages = []
    for fills in ([1000], [10_000] * 3):
        session.set("a", max_size=None)
        for count in fills:
            session.fill("a", count)
        session.rows("vacuum analyze lonnymq.message")
        fold(session)
        with other.open():
            other.create("elsewhere")
            session.set("a", max_size=100_000)
            fold(session)
            session.create("a")
            pages.append(session.buffers(CREATE))
        fold(session)
    assert pages[1] < 2 * pages[0]
