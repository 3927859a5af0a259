"""What is due, committed and permitted is delivered by the next dequeues, whoever was away, and without any sweep."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from database.rules.conftest import OpenSession
from database.rules.factories import Session, numbered
from lonnymq.testing import Clock

MINUTE = 60_000
# A clock that goes on by so many milliseconds whenever somebody reads it, as it does under load.
GOING_CLOCK = """
create sequence if not exists lonnymq.test_readings;
do $$
begin
  execute format(
    'create or replace function lonnymq.epoch(%s) returns bigint language sql volatile as %L',
    pg_get_function_arguments('lonnymq.epoch'::regproc),
    'select now_at + 150 * nextval(''lonnymq.test_readings'') from lonnymq.test_clock');
end
$$
"""


@contextmanager
def fold_lock_held(by: Session) -> Iterator[None]:
    """Somebody else is folding notes for the length of the block: who dequeues in it does not fold."""
    with by.open():
        by.dequeue_once()
        yield


def until_empty(session: Session, limit: int) -> list[int]:
    """The ids of what is delivered until a dequeue says empty."""
    had = []
    while leases := session.dequeue(limit, 60 * MINUTE):
        had += [each.id for each in leases]
    return had


def deliver_something_else(producer: Session, consumer: Session) -> None:
    """Another channel's message goes through the queue, which writes down that all was looked at."""
    made = producer.create("else")
    had = consumer.dequeue(1, 60 * MINUTE)
    assert [each.id for each in had] == [made]
    consumer.complete(*had)


@pytest.mark.long
def test_leases_that_were_taken_one_by_one_and_ran_out_while_nobody_was_there_come_back_at_once(
    open_session: OpenSession, dsn_18: str, clock_18: Clock
) -> None:
    session = open_session(dsn_18)
    made = session.fill("a", 1200)
    for _ in made:
        session.dequeue_once(1, 5000)
    clock_18.advance(70_000)
    assert sorted(until_empty(session, 50)) == made


@pytest.mark.long
def test_channels_that_wake_together_are_all_awake(
    open_session: OpenSession, dsn_18: str, clock_18: Clock
) -> None:
    session = open_session(dsn_18)
    channels, due_at = numbered("c", 12_000), clock_18.now() + 1000
    for some in (channels[:6000], channels[6000:]):
        session.create_many(some, dequeue_ats=[due_at] * len(some))
    while session.dequeue(1):  # folds
        pass
    clock_18.advance(90_000)
    assert len(set(until_empty(session, 500))) == len(channels)


def test_no_answer_is_empty_while_the_rate_of_a_channel_allows_its_next_message(
    open_session: OpenSession, dsn_18: str, clock_18: Clock
) -> None:
    """Channels whose rates allow the next message at moments 40 ms apart, and one consumer that looks on and on."""
    session, channels = open_session(dsn_18), numbered("c", 40)
    session.queue_set(default_min_interval_ms=20_000)
    session.create_many([each for each in channels for _ in range(2)])
    allowed_at = {}
    for _ in channels:
        [lease] = session.dequeue(1, 60 * MINUTE)
        allowed_at[lease.channel] = lease.dequeued_at + 20_000
        clock_18.advance(40)
    clock_18.advance(18_000)
    clock_18.connection.execute(GOING_CLOCK)
    wrong = []
    while allowed_at:
        began = session.now()
        for lease in session.dequeue(10, 60 * MINUTE):
            del allowed_at[lease.channel]
        if session.answer == "empty":
            wrong += [began - at for at in allowed_at.values() if at <= began]
    assert wrong == []


@pytest.mark.parametrize("by", ["lease", "rate", "schedule"])
def test_what_falls_due_while_a_dequeue_is_at_work_is_found_by_the_next(
    open_session: OpenSession, dsn_18: str, clock_18: Clock, by: str
) -> None:
    """A dequeue reads the clock several times: whichever reading the moment comes before, it is not skipped."""
    session = open_session(dsn_18)
    clock_18.connection.execute(GOING_CLOCK)
    skipped = []
    for lead in range(0, 750, 25):
        due_at = fall_due_later(session, by, f"{by} {lead}")
        session.fill("else", 2)
        session.complete(*session.dequeue(1, 60 * MINUTE))
        advance(clock_18, session, due_at - lead)
        session.complete(*session.dequeue_once(1, 60 * MINUTE))
        if session.now() >= due_at:
            had = session.dequeue(1, 60 * MINUTE)
            session.complete(*had)
            skipped += [] if had else [lead]
        advance(clock_18, session, session.now() + 10 * MINUTE)
        session.maintain()
        session.drain()
    assert session.value("select count(*) from lonnymq.message") == 0
    assert skipped == []


def fall_due_later(session: Session, by: str, channel: str) -> int:
    """Leave one message of a channel for later, and return the moment at which it can be had."""
    if by == "schedule":
        made = session.create(channel, delay_ms=5000)
        assert session.dequeue() == []  # folds
        return session.value("select dequeue_at from lonnymq.message where id = %s", made)
    if by == "rate":
        session.set(channel, min_interval_ms=5000)
        session.fill(channel, 2)
        [lease] = session.dequeue(1, 60 * MINUTE)
        session.complete(lease)
        return lease.dequeued_at + 5000
    session.create(channel)
    [lease] = session.dequeue(1, 5000)
    return lease.lease_until


def advance(clock: Clock, session: Session, to: int) -> None:
    """Set the clock that goes on to a moment."""
    clock.connection.execute(
        "update lonnymq.test_clock set now_at = now_at + %s", (to - session.now(),)
    )


def test_a_lease_that_ends_before_its_dequeue_is_committed_runs_out_all_the_same(
    open_session: OpenSession, dsn: str, clock: Clock
) -> None:
    producer, folder, slow, consumer = (open_session(dsn) for _ in range(4))
    producer.fill("a", 3)
    consumer.complete(*consumer.dequeue())
    with slow.open():
        with fold_lock_held(folder):
            [lease] = slow.dequeue_once(1, 1)
        clock.advance(2 * MINUTE)
        deliver_expired(consumer)
        deliver_something_else(producer, consumer)
    assert [each.id for each in consumer.dequeue()] == [lease.id]


def deliver_expired(consumer: Session) -> None:
    """Whatever else ran out meanwhile is out of the way."""
    while leases := consumer.dequeue(10, 60 * MINUTE):
        consumer.complete(*leases)


def test_a_rate_that_is_charged_by_a_dequeue_that_is_committed_late_allows_the_next(
    open_session: OpenSession, dsn: str, clock: Clock
) -> None:
    producer, folder, slow, consumer = (open_session(dsn) for _ in range(4))
    producer.set("a", min_interval_ms=1000)
    first, second = producer.fill("a", 2)
    folder.maintain()  # seats the channel
    with slow.open():
        with folder.open():
            folder.maintain()  # another has the fold lock
            assert [each.id for each in slow.dequeue_once(1, 60 * MINUTE)] == [first]
        clock.advance(2 * MINUTE)
        deliver_something_else(producer, consumer)
    assert [each.id for each in consumer.dequeue()] == [second]


def test_a_lease_that_was_made_shorter_in_a_transaction_that_is_committed_late_runs_out(
    open_session: OpenSession, dsn: str, clock: Clock
) -> None:
    producer, slow, consumer = (open_session(dsn) for _ in range(3))
    producer.create("a")
    [lease] = consumer.dequeue(1, 60 * MINUTE)
    with slow.open():
        assert slow.settle("heartbeat", [lease], lease_ms=1) == ["extended"]
        clock.advance(2 * MINUTE)
        deliver_something_else(producer, consumer)
    assert [each.id for each in consumer.dequeue()] == [lease.id]


@pytest.mark.parametrize("how", ["complete", "defer", "fail", "heartbeat"])
def test_a_lease_that_ran_out_while_it_was_being_settled_is_delivered_after_the_rollback(
    open_session: OpenSession, dsn: str, clock: Clock, how: str
) -> None:
    producer, settler, consumer = (open_session(dsn) for _ in range(3))
    producer.create("a")
    [lease] = consumer.dequeue(1, 5000)
    with settler.connection.transaction(force_rollback=True):
        settler.settle(how, [lease])
        clock.advance(5000)
        assert consumer.dequeue_once() == []
    assert [each.id for each in consumer.dequeue()] == [lease.id]
