"""Rule 12: NOTIFY has no payload, comes at most once a transaction, and only when a channel has something new."""

from collections.abc import Callable, Iterator

import psycopg
import pytest

from database.rules.conftest import OpenSession, on_18
from database.rules.factories import Session
from lonnymq.testing import Clock

Heard = Callable[[], list[str]]


@pytest.fixture
def heard(session: Session, direct_dsn: str) -> Iterator[Heard]:
    """What was notified since the last call: a marker sent after it shows that nothing is still under way."""
    with psycopg.connect(direct_dsn, autocommit=True) as listener:
        listener.execute("listen lonnymq")
        listener.execute("listen marker")

        def listen() -> list[str]:
            session.rows("select pg_notify('marker', '')")
            payloads: list[str] = []
            for notice in listener.notifies(timeout=20):
                if notice.channel == "marker":
                    return payloads
                if notice.payload != "clock":  # a test has moved the clock
                    payloads.append(notice.payload)
            raise AssertionError("the marker did not arrive")

        yield listen


ONCE, NEVER = [""], list[str]()


def test_the_first_message_of_an_idle_channel_is_notified_without_a_payload(
    session: Session, heard: Heard
) -> None:
    session.create("a", b"secret")
    assert heard() == ONCE
    session.drain()
    session.dequeue()
    heard()
    session.create("a")
    assert heard() == ONCE


def test_a_batch_into_an_idle_channel_is_notified(session: Session, heard: Heard) -> None:
    create = "select lonnymq.message_create_many(array['a', 'a'], array['x', 'y']::bytea[])"
    session.rows(create)
    assert heard() == ONCE
    session.drain()
    session.dequeue()
    heard()
    session.rows(create)
    assert heard() == ONCE


def test_a_transaction_notifies_at_most_once(session: Session, heard: Heard) -> None:
    with session.open():
        for channel in "abc":
            session.create(channel)
        session.create_many(["d", "e"])
        session.set("f", weight=2)
        session.rows("select lonnymq.message_announce(array['g'])")
    assert heard() == ONCE


def test_a_channel_that_has_something_due_is_not_notified_again(
    session: Session, heard: Heard
) -> None:
    session.fill("a", 3)
    session.dequeue()
    heard()
    session.create("a")
    session.create("a", delay_ms=5000)
    session.create("a", dequeue_at=-1)
    session.create_many(["a", "a"])
    assert heard() == NEVER


@on_18
@pytest.mark.parametrize("how", ["complete", "defer", "fail", "heartbeat"])
def test_settling_in_a_channel_that_has_something_due_notifies_nobody(
    session: Session, heard: Heard, how: str
) -> None:
    session.fill("a", 3)
    leases = session.dequeue()
    heard()
    session.settle(how, leases)
    assert heard() == NEVER


def test_a_rollback_notifies_nobody(session: Session, heard: Heard) -> None:
    with session.connection.transaction(force_rollback=True):
        session.create("a")
    assert heard() == NEVER


def test_a_create_after_one_that_was_taken_back_is_notified(session: Session, heard: Heard) -> None:
    with session.open():
        with session.connection.transaction(force_rollback=True):
            session.create("a")
        session.create("b")
    assert heard() == ONCE


def test_a_dequeue_notifies_nobody(session: Session, heard: Heard) -> None:
    session.fill("a", 3)
    session.create("b", delay_ms=1000)
    heard()
    for _ in range(5):
        session.complete(*session.dequeue())
    assert heard() == NEVER


def test_a_later_time_than_the_channel_waits_for_is_not_notified_and_an_earlier_one_is(
    session: Session, clock: Clock, heard: Heard
) -> None:
    session.create("a", delay_ms=5000)
    session.dequeue()
    heard()
    session.create("a", delay_ms=6000)
    session.create_many(["a"], delays_ms=[7000])
    assert heard() == NEVER
    session.rest()
    session.create("a", delay_ms=4000)
    assert heard() == ONCE
    session.dequeue()
    session.rest()
    session.create("a")
    assert heard() == ONCE


def test_creates_after_one_that_was_told_of_are_not_notified_until_somebody_looks(
    session: Session, another: Session, heard: Heard
) -> None:
    session.create("a")
    assert heard() == ONCE
    for channel in "abc":
        another.create(channel)
        session.create_many([channel, "d"])
    assert heard() == NEVER
    assert len(session.drain()) == 10
    assert session.dequeue() == []
    session.rest()
    session.create("b")
    assert heard() == ONCE


def test_a_moment_after_a_notified_message_was_folded_the_next_is_not_notified_but_looked_for(
    session: Session, heard: Heard
) -> None:
    session.create("a")
    session.drain()
    heard()
    session.rows(
        "update lonnymq.checkpoint set notified_at = clock_timestamp() + interval '1 minute'"
    )
    session.create("b")
    session.create_many(["c"])
    assert heard() == NEVER
    session.drain()
    session.rows(
        "update lonnymq.checkpoint set notified_at = clock_timestamp() + interval '1 minute'"
    )
    assert session.dequeue() == []
    assert session.retry_at is not None
    assert session.retry_at <= session.value("select lonnymq.epoch() + 6")
    session.rows(
        "update lonnymq.checkpoint set notified_at = clock_timestamp() - interval '1 minute'"
    )
    session.create("b")
    assert heard() == ONCE


def test_who_looked_looks_again_until_transactions_of_that_time_have_ended(
    session: Session, another: Session, heard: Heard
) -> None:
    session.create("a")
    heard()
    with another.connection.transaction():
        another.create("b")
        session.dequeue()
        session.dequeue_once()
        session.dequeue_once()
        assert session.retry_at is not None
        assert session.retry_at <= session.value("select lonnymq.epoch() + 50")
    assert heard() == NEVER
    assert [each.channel for each in session.dequeue()] == ["b"]


def test_a_channel_that_is_held_is_not_notified_for_what_it_may_not_run(
    session: Session, clock: Clock, heard: Heard
) -> None:
    session.set("saturated", max_concurrency=1)
    session.set("throttled", min_interval_ms=60_000)
    session.fill("paused", 2)
    for channel in ("saturated", "throttled"):
        session.fill(channel, 2)
    session.rows("select lonnymq.channel_pause('paused')")
    session.dequeue(10)
    session.dequeue(10)
    heard()
    for channel in ("saturated", "throttled", "paused"):
        session.create(channel)
        session.create_many([channel] * 2)
    assert heard() == NEVER


@pytest.mark.parametrize("how", ["defer", "fail"])
def test_what_goes_back_into_an_idle_channel_is_notified(
    session: Session, heard: Heard, how: str
) -> None:
    session.create("a")
    leases = session.dequeue()
    session.dequeue()  # takes the seat of the channel, which has nothing due
    heard()
    session.settle(how, leases)
    assert heard() == ONCE


def test_a_lease_that_the_sweep_takes_back_is_notified(
    session: Session, clock: Clock, heard: Heard
) -> None:
    session.create("a")
    session.dequeue(1, 1000)
    session.dequeue()
    heard()
    clock.advance(1000)
    assert session.maintain().expired == 1
    assert heard() == ONCE


@on_18
@pytest.mark.parametrize(
    "change",
    [
        "select lonnymq.channel_set('a', '{\"max_concurrency\": 5}')",
        "select lonnymq.channel_resume('a')",
        "select lonnymq.queue_set('{\"max_concurrency\": 5}')",
        "select lonnymq.dead_redrive(p_channel => 'a')",
    ],
)
def test_a_change_that_may_let_something_run_is_notified(
    session: Session, heard: Heard, change: str
) -> None:
    session.fill("a", 2)
    session.settle("fail", session.dequeue(), deads=[True])
    session.rows("select lonnymq.channel_pause('a')")
    session.dequeue()
    heard()
    session.rows(change)
    assert heard() == ONCE


def test_a_worker_that_hears_nothing_is_told_when_to_look(session: Session, clock: Clock) -> None:
    session.create("a", delay_ms=5000)
    assert session.dequeue() == []
    clock.advance(5)
    assert session.dequeue() == []
    assert session.retry_at is not None
    assert clock.now() < session.retry_at <= clock.now() + 4995
    clock.advance(4994)
    assert session.dequeue() == []
    assert session.retry_at == clock.now() + 1
    clock.set(session.retry_at)
    assert len(session.dequeue()) == 1


CREATES = {
    "one": "select lonnymq.message_create('a', 'x')",
    "many": "select lonnymq.message_create_many(array['a', 'a'], array['x', 'y']::bytea[])",
    "keyed": "select lonnymq.message_create('a', 'x', p_key => 'k')",
    "many keyed": "select lonnymq.message_create_many(array['a'], array['x']::bytea[], p_keys => array['k'])",
}


@on_18
@pytest.mark.parametrize("create", CREATES.values(), ids=CREATES)
@pytest.mark.parametrize("was", ["changed", "seated"])
def test_a_create_by_an_older_snapshot_is_notified_whatever_the_channel_was_then(
    session: Session, open_session: OpenSession, heard: Heard, dsn: str, was: str, create: str
) -> None:
    """The snapshot shows a notified change that nobody had folded, or a channel with messages due."""
    producer = open_session(dsn)
    session.create("a")
    if was == "seated":
        session.create("a")
        session.complete(*session.dequeue_once(1))
    with producer.connection.transaction():
        producer.rows("set transaction isolation level repeatable read")
        producer.rows("select from lonnymq.queue")
        session.drain()
        session.dequeue()
        heard()
        producer.rows(create)
    assert heard() == ONCE


def test_a_heartbeat_that_makes_a_lease_shorter_is_notified_and_others_are_not(
    session: Session, heard: Heard
) -> None:
    session.create("a")
    leases = session.dequeue(1, 60_000)
    heard()
    session.settle("heartbeat", leases, lease_ms=90_000)
    assert heard() == NEVER
    session.settle("heartbeat", leases, lease_ms=1000)
    assert heard() == ONCE
