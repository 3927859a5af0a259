"""Rule 5: no limit is exceeded at any instant, shown by a sweep over every recorded lease."""

import itertools
import random
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from threading import Event

import pytest

from database.rules.conftest import OpenSession
from database.rules.factories import Lease, Session, at_once, numbered
from database.rules.intervals import Interval, at_moment, most_at_once, rate_violations
from lonnymq.testing import Clock

SEEDS = range(16)
MOST_SECONDS = 180  # a machine that has not done enough by then is told so by the assertions
ENOUGH = 40
HISTORY = (
    "select message_id, attempt, channel, dequeued_at, finished_at, outcome from lonnymq.history"
)
Taken = tuple[float, Lease]


def consume(session: Session, seed: int, over: Event, taken: list[Taken]) -> None:
    """Dequeue in batches and settle in all ways until told that it is over."""
    chance = random.Random(seed)
    while not over.is_set():
        begun = time.time() * 1000
        leases = session.dequeue(chance.randint(1, 7), 20_000)
        taken += [(begun, lease) for lease in leases]
        how = chance.choices(["complete", "defer", "fail"], [8, 1, 1])[0]
        options = {"retries_ms": [0] * len(leases)} if how == "fail" else {}
        if leases:
            session.settle(how, leases, **options)


def run_consumers(
    open_session: OpenSession, dsn: str, steps: Callable[[list[Taken]], Iterator[bool]]
) -> list[Taken]:
    """So many consumers at once, while it goes step by step, until a step finds that it is enough."""
    over, taken, until = Event(), list[Taken](), time.monotonic() + MOST_SECONDS

    def go() -> None:
        try:
            for is_enough in steps(taken):
                if is_enough or time.monotonic() > until:
                    return
        finally:
            over.set()

    tasks: list[Callable[[], None]] = [go]
    tasks += [partial(consume, open_session(dsn), each, over, taken) for each in SEEDS]
    at_once(tasks)
    return taken


def looking(is_enough: Callable[[], bool]) -> Callable[[list[Taken]], Iterator[bool]]:
    """Look now and then whether enough has happened, however fast or slow the machine is."""

    def steps(_: list[Taken]) -> Iterator[bool]:
        while True:
            time.sleep(0.5)  # between two looks
            yield is_enough()

    return steps


def recorded(session: Session, channel: str | None = None) -> list[Interval]:
    """When each lease began and ended; one that did not end lasts for ever."""
    ended = [
        (each.dequeued_at, each.finished_at)
        for each in session.rows(HISTORY)
        if channel in (None, each.channel)
    ]
    open_ones = session.rows(
        "select channel, dequeued_at from lonnymq.message where token is not null"
    )
    return ended + [
        (each.dequeued_at, 2**62) for each in open_ones if channel in (None, each.channel)
    ]


def test_the_sweep_itself_finds_what_is_too_much() -> None:
    assert most_at_once([(0, 10), (10, 20), (5, 6)]) == 2
    assert at_moment([(0, 10), (10, 20)], 10) == 1
    assert rate_violations([0, 0, 100, 200], 100, 2) == []
    assert rate_violations([0, 0, 99], 100, 2) == [(0, 99)]


def test_concurrency_of_channels_is_never_exceeded_by_sixteen_consumers_with_batches(
    open_session: OpenSession, dsn_18: str
) -> None:
    session = open_session(dsn_18)
    limits = {"one": 1, "three": 3, "ten": 10}
    for channel, limit in limits.items():
        session.set(channel, max_concurrency=limit, max_attempts=1000)
        session.fill(channel, 3000)
    session.fill("free", 3000)

    def is_enough() -> bool:
        seen = {channel: recorded(session, channel) for channel in limits}
        return all(
            len(leases) > ENOUGH and most_at_once(leases) >= limits[channel]
            for channel, leases in seen.items()
        )

    run_consumers(open_session, dsn_18, looking(is_enough))
    for channel, limit in limits.items():
        leases = recorded(session, channel)
        assert most_at_once(leases) == limit, channel
        assert len(leases) > ENOUGH
    assert session.check() == []


@pytest.mark.long
def test_the_queue_s_own_limit_is_never_exceeded(open_session: OpenSession, dsn_18: str) -> None:
    session = open_session(dsn_18)
    session.queue_set(max_concurrency=5)
    for channel in numbered("c", 4):
        session.set(channel, max_concurrency=3)
    for channel in numbered("c", 10):
        session.fill(channel, 500)

    def is_enough() -> bool:
        leases = recorded(session)
        return len(leases) > 5 * ENOUGH and most_at_once(leases) >= 5

    run_consumers(open_session, dsn_18, looking(is_enough))
    assert most_at_once(recorded(session)) == 5
    assert most_at_once(recorded(session, "c0")) <= 3
    assert session.check() == []


@pytest.mark.long
def test_a_rate_is_never_exceeded_between_any_two_leases(
    open_session: OpenSession, dsn_18: str
) -> None:
    session = open_session(dsn_18)
    rates = {"plain": (20, 1), "burst": (15, 5), "fast": (2, 3), "both": (5, 4)}
    for channel, (interval, burst) in rates.items():
        session.set(channel, min_interval_ms=interval, burst=burst, max_attempts=1000)
        session.fill(channel, 3000)
    session.set("both", max_concurrency=2)

    def is_enough() -> bool:
        return all(len(recorded(session, channel)) > ENOUGH for channel in rates)

    run_consumers(open_session, dsn_18, looking(is_enough))
    for channel, (interval, burst) in rates.items():
        moments = [begin for begin, _ in recorded(session, channel)]
        assert rate_violations(moments, interval, burst) == [], channel
        assert len(moments) > ENOUGH
    assert most_at_once(recorded(session, "both")) <= 2
    assert session.check() == []


@pytest.mark.long
def test_limits_changed_live_hold_for_every_dequeue_that_begins_after_the_commit(
    open_session: OpenSession, dsn_18: str
) -> None:
    session, chance = open_session(dsn_18), random.Random(5)
    session.set("a", max_concurrency=4, max_attempts=1000)
    session.fill("a", 9000)
    regimes: list[tuple[float, float, int]] = []

    def change(taken: list[Taken]) -> Iterator[bool]:
        while True:
            limit = chance.randint(1, 9)
            session.set("a", max_concurrency=limit)
            committed = time.time() * 1000
            before = len(taken)
            while len(taken) < before + 5 and time.time() * 1000 < committed + 5000:
                time.sleep(0.01)  # this limit is in force until some leases were taken under it
            regimes.append((committed, time.time() * 1000, limit))
            yield len(regimes) >= 60

    taken = run_consumers(open_session, dsn_18, change)
    intervals = recorded(session, "a")
    judged = 0
    for committed, ended, limit in regimes:
        for begun, lease in taken:
            if committed < begun and lease.dequeued_at < ended - 1:
                judged += 1
                assert at_moment(intervals, lease.dequeued_at) <= limit
    assert judged > 20
    assert session.check() == []


@pytest.mark.long
def test_a_pause_holds_for_every_dequeue_that_begins_after_the_commit(
    open_session: OpenSession, dsn_18: str
) -> None:
    session = open_session(dsn_18)
    session.fill("a", 9000)
    session.fill("b", 9000)
    pauses: list[tuple[float, float]] = []

    def change(taken: list[Taken]) -> Iterator[bool]:
        while True:
            session.rows("select lonnymq.channel_pause('a')")
            committed = time.time() * 1000
            before = len(taken)
            while len(taken) < before + 5 and time.time() * 1000 < committed + 5000:
                time.sleep(
                    0.01
                )  # the pause lasts until some leases of the other channel were taken
            pauses.append((committed, time.time() * 1000))
            session.rows("select lonnymq.channel_resume('a')")
            before = sum(lease.channel == "a" for _, lease in taken)
            ended = time.monotonic()
            while sum(lease.channel == "a" for _, lease in taken) == before:
                if time.monotonic() > ended + 5:
                    break
                time.sleep(0.01)
            yield len(pauses) >= 40

    taken = run_consumers(open_session, dsn_18, change)
    early = [
        lease
        for begun, lease in taken
        for committed, ended in pauses
        if lease.channel == "a" and committed < begun and lease.dequeued_at < ended - 1
    ]
    assert early == []
    assert {"a", "b"} == {lease.channel for _, lease in taken}
    assert session.check() == []


def batch(session: Session, limit: int = 10) -> int:
    return len(session.dequeue(limit))


def test_every_message_of_a_batch_counts_when_it_is_leased(session: Session) -> None:
    session.set("a", max_concurrency=3)
    session.fill("a", 9)
    leases = session.dequeue(10)
    assert len(leases) == 3
    session.complete(*leases[:2])
    assert batch(session) == 2
    assert batch(session) == 0
    assert session.check() == []


def test_a_rate_lets_through_its_burst_and_then_one_in_each_interval(
    session: Session, clock: Clock
) -> None:
    session.set("a", min_interval_ms=100, burst=3)
    session.fill("a", 30)
    seen = [batch(session)]
    for pause in (99, 1, 99, 1, 50, 50, 200, 1000):
        clock.advance(pause)
        seen.append(batch(session))
    assert seen == [3, 0, 1, 0, 1, 0, 1, 2, 3]
    assert session.retry_at is None or session.retry_at >= clock.now()


def test_a_burst_of_one_is_a_minimum_interval(session: Session, clock: Clock) -> None:
    session.set("a", min_interval_ms=100)
    session.fill("a", 9)
    moments = []
    for _ in range(50):
        moments += [clock.now()] * batch(session)
        clock.advance(10)
    assert [later - earlier for earlier, later in itertools.pairwise(moments)] == [100] * 4


def test_an_attempt_that_was_deferred_or_failed_counts_against_the_rate(
    session: Session, clock: Clock
) -> None:
    session.set("a", min_interval_ms=100)
    session.fill("a", 2)
    for how in ("defer", "fail"):
        session.settle(how, session.dequeue(5))
        assert batch(session) == 0
        clock.advance(100)


@pytest.mark.parametrize("how", ["complete", "defer", "fail"])
def test_a_slot_is_given_back_exactly_once_however_a_lease_ends(session: Session, how: str) -> None:
    session.set("a", max_concurrency=2)
    session.queue_set(max_concurrency=3)
    session.fill("a", 20)
    session.fill("b", 20)
    leases = session.dequeue(10)
    assert len(leases) == 3
    session.settle(how, [*leases, *leases])
    session.settle(how, leases)
    assert len(session.dequeue(10)) == 3
    assert session.check() == []


def test_a_slot_of_the_queue_is_given_back_once_though_its_channel_was_busy(
    open_session: OpenSession, dsn: str
) -> None:
    session, holder = open_session(dsn, impatient=True), open_session(dsn, impatient=True)
    session.queue_set(max_concurrency=3)
    session.set("a", max_concurrency=3)
    session.fill("a", 9)
    leases = session.dequeue(3)
    session.complete(leases[0])
    with holder.open():
        holder.rows("select from lonnymq.channel where name = 'a' for update")  # as a dequeue does
        for _ in range(3):
            session.create("b")
            session.dequeue_once(5)
    assert session.check() == []
    session.dequeue(9)
    assert session.value("select count(*) from lonnymq.message where token is not null") == 3


def test_a_limit_that_comes_later_counts_what_is_leased_already(session: Session) -> None:
    session.fill("a", 9)
    before = session.dequeue(4)
    session.set("a", max_concurrency=5)
    assert batch(session) == 1
    session.queue_set(max_concurrency=6)
    session.fill("b", 9)
    assert batch(session) == 1
    session.complete(*before)
    assert batch(session) == 4
    assert session.check() == []


def test_a_limit_that_comes_while_a_lease_is_being_completed_counts_that_lease(
    session: Session, another: Session
) -> None:
    session.fill("a", 5)
    [lease] = session.dequeue()
    with another.connection.transaction(force_rollback=True):
        another.complete(lease)
        session.set("a", max_concurrency=1)
        assert session.dequeue_once(5) == []
    assert batch(session) == 0
    assert session.complete(lease) == ["completed"]
    assert batch(session) == 1
    assert session.check() == []


def test_a_limit_that_is_taken_away_and_comes_back_counts_right(session: Session) -> None:
    session.set("a", max_concurrency=2)
    session.fill("a", 20)
    held = session.dequeue(9)
    session.set("a", max_concurrency=None)
    held += session.dequeue(3)
    session.set("a", max_concurrency=6)
    held += session.dequeue(9)
    assert len(held) == 6
    session.complete(*held)
    assert batch(session) == 6
    assert session.check() == []


def test_a_lowered_limit_lets_nothing_through_until_enough_has_ended(session: Session) -> None:
    session.set("a", max_concurrency=5)
    session.fill("a", 20)
    held = session.dequeue(9)
    session.set("a", max_concurrency=2)
    answers: Sequence[int] = []
    for lease in held:
        answers = [*answers, batch(session)]
        session.complete(lease)
    assert answers == [0, 0, 0, 0, 1]
    assert session.check() == []


def test_a_channel_that_was_forgotten_and_comes_back_still_pays_for_its_rate(
    session: Session, clock: Clock
) -> None:
    session.queue_set(default_min_interval_ms=10_000, default_burst=2, channel_idle_ms=1)
    session.create("a")
    session.drain()
    session.dequeue()
    clock.advance(1000)
    session.maintain()
    session.fill("a", 5)
    assert batch(session) == 1
