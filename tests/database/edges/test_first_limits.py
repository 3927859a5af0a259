"""A first limit counts what is leased already, also what is being leased or settled at the moment it is set."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from database.edges.breakpoint import Breakpoint
from database.rules.conftest import OpenSession
from database.rules.factories import Lease, Session


@contextmanager
def ended_by(session: Session, end: str) -> Iterator[None]:
    """A transaction that is left open for the length of the block, and then ends so."""
    with session.connection.transaction(force_rollback=end == "rollback"):
        yield


def limit_channel(session: Session) -> None:
    session.set("a", max_concurrency=2)


def limit_queue(session: Session) -> None:
    session.queue_set(max_concurrency=2)


Limit = Callable[[Session], None]
of_both = pytest.mark.parametrize("limit", [limit_channel, limit_queue])
however = pytest.mark.parametrize("end", ["commit", "rollback"])


def in_flight(session: Session) -> list[Lease]:
    """What is leased by now, for all to see."""
    return session.rows("select id, token from lonnymq.message where token is not null order by id")


def assert_slots_come_back(session: Session) -> None:
    """When all leases have ended there is room for as many as the limit allows, and no more."""
    session.complete(*in_flight(session))
    had = session.dequeue(9)
    assert len(had) == 2
    assert session.dequeue(9) == []
    session.complete(*had)
    assert len(session.dequeue(9)) == 2
    assert session.check() == []


@of_both
@however
def test_a_first_limit_counts_what_an_open_dequeue_is_leasing(
    open_session: OpenSession, dsn: str, limit: Limit, end: str
) -> None:
    setter, other, consumer = (open_session(dsn) for _ in range(3))
    setter.fill("a", 12)
    assert len(consumer.dequeue()) == 1
    with ended_by(other, end):
        assert len(other.dequeue_once(2)) == 2
        limit(setter)
        assert consumer.dequeue_once(9) == []  # three may be in flight
    consumer.dequeue(9)
    assert len(in_flight(setter)) == (3 if end == "commit" else 2)
    assert_slots_come_back(setter)


@of_both
@however
def test_a_first_limit_counts_what_an_open_dequeue_is_leasing_that_does_not_fold(
    open_session: OpenSession, dsn: str, limit: Limit, end: str
) -> None:
    setter, folder, other, consumer = (open_session(dsn) for _ in range(4))
    folder.maintain()
    setter.fill("a", 12)
    assert len(consumer.dequeue()) == 1
    with ended_by(other, end):
        with folder.open():
            folder.maintain()
            assert len(other.dequeue_once(2)) == 2
        limit(setter)
        assert consumer.dequeue_once(9) == []  # three may be in flight
    consumer.dequeue(9)
    assert len(in_flight(setter)) == (3 if end == "commit" else 2)
    assert_slots_come_back(setter)


@of_both
@however
@pytest.mark.parametrize("how", ["complete", "defer", "fail", "heartbeat"])
def test_a_first_limit_counts_what_is_being_settled(
    open_session: OpenSession, dsn_18: str, limit: Limit, end: str, how: str
) -> None:
    setter, settler, consumer = (open_session(dsn_18) for _ in range(3))
    setter.set("a", retry_delays_ms=[0], retry_jitter=0)
    setter.fill("a", 12)
    leases = consumer.dequeue(2)
    with ended_by(settler, end):
        settler.settle(how, leases)
        limit(setter)
        assert consumer.dequeue_once(9) == []
    had = consumer.dequeue(9)
    assert len(had) == (2 if end == "commit" and how != "heartbeat" else 0)
    assert len(in_flight(setter)) == 2
    assert_slots_come_back(setter)


@of_both
def test_a_first_limit_gives_slots_back_for_leases_whose_completion_was_rolled_back(
    open_session: OpenSession, dsn_18: str, limit: Limit
) -> None:
    setter, settler, consumer = (open_session(dsn_18) for _ in range(3))
    setter.fill("a", 12)
    leases = consumer.dequeue(3)
    with ended_by(settler, "rollback"):
        settler.complete(*leases)
        limit(setter)
        assert consumer.dequeue_once(9) == []
    consumer.complete(*leases[:2])
    assert len(consumer.dequeue(9)) == 1
    assert len(in_flight(setter)) == 2
    assert_slots_come_back(setter)


def test_a_first_limit_counts_what_the_call_has_leased_in_the_middle_of_which_it_came(
    open_session: OpenSession, dsn_18: str
) -> None:
    """A call walks the ring more than once: the limit comes when it has looked at the clock once, twice, …"""
    setter, consumer = open_session(dsn_18), open_session(dsn_18)
    breakpoint_ = Breakpoint(open_session(dsn_18))
    for reading in range(1, 8):
        few, many = f"few {reading}", f"many {reading}"
        setter.fill(few, 3)
        setter.fill(many, 12)
        call = breakpoint_.stop(consumer, reading, lambda: consumer.dequeue_once(9))
        setter.set(many, max_concurrency=4)
        breakpoint_.resume(consumer, call)
        before = leased_of(setter, many)
        consumer.dequeue(9)
        assert leased_of(setter, many) == max(4, before), reading
        setter.rows("select lonnymq.channel_pause(%s)", many)
        consumer.complete(*in_flight(setter))


def leased_of(session: Session, channel: str) -> int:
    """How many messages of a channel are leased."""
    leased = "select id from lonnymq.message where channel = %s and token is not null"
    return len(session.rows(leased, channel))


@pytest.mark.parametrize("of_queue", [False, True])
def test_a_slot_that_any_of_thousands_of_earlier_leases_frees_is_used_at_once(
    open_session: OpenSession, dsn_18: str, of_queue: bool
) -> None:
    session = open_session(dsn_18)
    session.fill("a", 5_010)
    leases = session.dequeue(5_000)
    set_limit = session.queue_set if of_queue else (lambda **options: session.set("a", **options))
    set_limit(max_concurrency=4_500)
    assert session.dequeue(9) == []
    session.complete(*leases[-503:])
    assert len(session.dequeue(9)) == 3
    assert session.dequeue(9) == []
    assert session.check() == []
