"""Leases that run out together are taken back in bounded steps that are kept, and nobody else waits for them."""

from __future__ import annotations

from random import Random

import psycopg
import pytest

from database.rules.conftest import OpenSession
from database.rules.factories import Lease, Session
from lonnymq.testing import Clock

HOUR = 3_600_000
EXPIRED = 40_000
CALL_MS = 2000  # what a single call may take: the server cancels it otherwise
BATCH = 100


def lease_all(producer: Session, consumer: Session, count: int) -> list[Lease]:
    """Lease so many messages of one channel, 10,000 a dequeue, as a stream reader does."""
    producer.set("dead fleet", max_attempts=100)
    leases = []
    for first in range(0, count, 10_000):
        size = min(10_000, count - first)
        producer.fill("dead fleet", size)
        leases += consumer.dequeue(size, 30_000)
    assert len(leases) == count
    return leases


def hurried(open_session: OpenSession, dsn: str) -> Session:
    """A consumer whose calls are cancelled by the server after a while."""
    session = open_session(dsn)
    session.rows(f"set statement_timeout = {CALL_MS}")
    return session


def try_dequeue(consumer: Session) -> tuple[int, int]:
    """How many messages a call brought, and how many calls were cancelled."""
    try:
        return len(consumer.dequeue_once(BATCH, HOUR)), 0
    except psycopg.errors.QueryCanceled:
        return 0, 1


@pytest.mark.long
def test_every_call_is_short_while_leases_that_ran_out_together_are_taken_back(
    open_session: OpenSession, dsn_18: str, clock_18: Clock
) -> None:
    producer, consumer = open_session(dsn_18), hurried(open_session, dsn_18)
    lease_all(producer, open_session(dsn_18), EXPIRED)
    clock_18.advance(HOUR)
    calls = delivered = cancelled = 0
    while delivered < EXPIRED and calls < 2 * EXPIRED // BATCH:
        had, failed = try_dequeue(consumer)
        calls, delivered, cancelled = calls + 1, delivered + had, cancelled + failed
        if cancelled > 2:
            break
    assert (delivered, cancelled) == (EXPIRED, 0)


@pytest.mark.long
def test_two_consumers_with_a_statement_timeout_make_progress_and_another_tenant_is_served(
    open_session: OpenSession, dsn_18: str, clock_18: Clock
) -> None:
    producer = open_session(dsn_18)
    lease_all(producer, open_session(dsn_18), EXPIRED)
    clock_18.advance(HOUR)
    others = set(producer.fill("another tenant", 95))
    consumers = [hurried(open_session, dsn_18) for _ in range(2)]
    cancelled = 0
    for consumer in consumers * 8:
        try:
            leases = consumer.dequeue_once(BATCH, HOUR)
        except psycopg.errors.QueryCanceled:
            cancelled += 1
            if cancelled > 2:
                break
        else:
            others -= {each.id for each in leases}
    assert (len(others), cancelled) == (0, 0)


def test_one_dequeue_of_one_takes_the_same_pages_however_many_leases_have_run_out(
    open_session: OpenSession, dsn_18: str, clock_18: Clock
) -> None:
    """Pages are counted for the first call after the expiry of 2,000 and of 16,000."""
    session, pages = open_session(dsn_18), []
    for count in (2_000, 16_000):
        lease_all(session, session, count)
        clock_18.advance(HOUR)
        pages.append(session.dequeue_buffers())
        while leases := session.dequeue(10_000):
            session.complete(*leases)
        session.rows("vacuum")
    assert pages[1] < 2 * pages[0]


def test_every_message_returns_once_whatever_the_size_of_the_dequeue_was(
    open_session: OpenSession, dsn_18: str, clock_18: Clock
) -> None:
    """A fold checks 10,000 messages: the leases of two dequeues of 7,000 are more, and the rest is kept."""
    session = open_session(dsn_18)
    leased = [each.id for _ in range(3) for each in lease_all(session, session, 7_000)]
    clock_18.advance(HOUR)
    returned: list[int] = []
    while leases := session.dequeue(1_000, HOUR):
        returned += [each.id for each in leases]
    assert sorted(returned) == sorted(leased)
    assert not session.rows("select * from lonnymq.queue_check()")


def extend_in_any_order(session: Session, leases: list[Lease], clock: Clock) -> None:
    """Extend every lease, a hundred from all over the channel at a time: no two hundreds end together."""
    shuffled = Random(1).sample(leases, len(leases))
    for first in range(0, len(shuffled), 100):
        some = shuffled[first : first + 100]
        session.rows(
            "select lonnymq.message_heartbeat(%s::bigint[], %s::uuid[], %s)",
            [each.id for each in some],
            [each.token for each in some],
            40_000 + first,
        )
    clock.advance(35_000)
    assert not session.dequeue()  # looks at all of them, and finds that they were extended


@pytest.mark.parametrize("in_any_order", [False, True])
def test_large_dequeues_step_over_the_messages_whose_leases_have_not_been_taken_back_yet(
    open_session: OpenSession, dsn_18: str, clock_18: Clock, *, in_any_order: bool
) -> None:
    """All leases of a channel ran out. Each call takes some of them back, and leases all that it finds."""
    session, pages = open_session(dsn_18), []
    for count in (2_000, 16_000):
        leases = lease_all(session, session, count)
        if in_any_order:
            extend_in_any_order(session, leases, clock_18)
        clock_18.advance(2 * HOUR)
        pages.append(sorted(session.dequeue_buffers(1000) for _ in range(5))[2])
        clock_18.advance(2 * HOUR)
        while leases := session.dequeue(10_000):
            session.complete(*leases)
        session.rows("vacuum")
    assert pages[1] < 2 * pages[0]


@pytest.mark.parametrize("limit", [1, 10])
def test_an_early_message_costs_the_same_however_many_messages_behind_it_are_leased(
    open_session: OpenSession, dsn_18: str, clock_18: Clock, limit: int
) -> None:
    """Some messages wait behind the leased ones, so that the call has a reason to go there."""
    session, pages = open_session(dsn_18), []
    for count in (2_000, 16_000):
        lease_all(session, session, count)
        clock_18.advance(5_000)
        session.fill("dead fleet", 20)
        seen = []
        for _ in range(5):
            session.value("select id from lonnymq.message_create('dead fleet', 'x', 1000)")
            seen.append(session.dequeue_buffers(limit))
        pages.append(sorted(seen)[2])
        assert not session.rows("select * from lonnymq.queue_check()")
        clock_18.advance(2 * HOUR)
        while leases := session.dequeue(10_000):
            session.complete(*leases)
        session.rows("vacuum")
    assert pages[1] < 2 * pages[0]
