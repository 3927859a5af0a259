"""Rule 6: turns are fair at every prefix, weights are messages a turn, and what cannot be served is not scanned."""

import itertools
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from math import ceil

import pytest

from database.rules.conftest import OpenSession, on_18
from database.rules.factories import Lease, Session, at_once, numbered
from lonnymq.testing import Clock


def spread(served: Iterable[str], channels: Sequence[str]) -> int:
    """The largest difference between two channels at any prefix."""
    counts, most = dict.fromkeys(channels, 0), 0
    for channel in served:
        counts[channel] += 1
        most = max(most, max(counts.values()) - min(counts.values()))
    return most


def turns_apart(served: Iterable[str], weights: dict[str, int]) -> int:
    """The largest difference, at any prefix, between the turns one channel began and another finished."""
    counts, most = dict.fromkeys(weights, 0), 0
    for channel in served:
        counts[channel] += 1
        begun = max(ceil(counts[each] / weights[each]) for each in weights)
        finished = min(counts[each] // weights[each] for each in weights)
        most = max(most, begun - finished)
    return most


def backlog(session: Session, channels: Sequence[str], each: int, seed: int = 1) -> None:
    """The same number of messages for each channel, created in a random order."""
    order = [channel for channel in channels for _ in range(each)]
    random.Random(seed).shuffle(order)
    session.create_many(order)


def names(leases: Iterable[Lease]) -> list[str]:
    return [each.channel for each in leases]


def test_the_measures_themselves_see_what_is_unfair() -> None:
    assert spread("abab", "ab") == 1
    assert spread("aabb", "ab") == 2
    assert turns_apart("aabaab", {"a": 2, "b": 1}) == 1
    assert turns_apart("aaab", {"a": 2, "b": 1}) == 2


@pytest.mark.parametrize("limits", [{}, {"max_concurrency": 1000}, {"max_size": 1000}])
def test_one_consumer_serves_backlogged_channels_in_turn(
    session: Session, limits: dict[str, int]
) -> None:
    channels = ["zebra", "a", "m", "B", "7", "é", "x" * 200]
    for channel in channels:
        session.set(channel, **limits)
    backlog(session, channels, 20)
    served = [name for _ in range(140) for name in names(session.dequeue())]
    assert len(served) == 140
    assert spread(served, channels) == 1


@on_18
@pytest.mark.parametrize("limit", [2, 3, 7, 10, 64])
def test_one_consumer_with_batches_serves_them_in_turn_at_every_prefix(
    session: Session, limit: int
) -> None:
    channels = numbered("c", 7)
    session.set("c3", max_concurrency=1000)
    backlog(session, channels, 40)
    served: list[str] = []
    while len(served) < 250:
        served += names(session.dequeue(limit))
    assert spread(served[:250], channels) == 1


def test_more_channels_than_one_look_reads_are_served_in_turn(
    open_session: OpenSession, dsn_18: str
) -> None:
    session, channels = open_session(dsn_18), numbered("c", 600)
    backlog(session, channels, 5)
    served = [
        name for limit in (1, 250, 400, 700, 3, 1000) for name in names(session.dequeue(limit))
    ]
    assert len(served) == 2354
    assert spread(served, channels) == 1


@pytest.mark.parametrize(("consumers", "limit"), [(2, 1), (5, 1), (3, 4), (8, 10)])
def test_several_consumers_with_batches_stay_within_the_bound_however_they_take_turns(
    open_session: OpenSession, dsn_18: str, consumers: int, limit: int
) -> None:
    channels, chance = numbered("c", 6), random.Random(consumers * limit)
    sessions = [open_session(dsn_18) for _ in range(consumers)]
    backlog(sessions[0], channels, 150)
    served: list[str] = []
    while len(served) < 500:
        served += names(chance.choice(sessions).dequeue(limit))
    assert spread(served, channels) <= 1 + consumers * ceil(limit / len(channels))


@pytest.mark.long
def test_at_thousands_of_dequeues_no_channel_is_favoured(
    open_session: OpenSession, dsn_18: str
) -> None:
    """Eight consumers at once: each one's own sequence is fair, and so is the sum."""
    channels = numbered("c", 20)
    session = open_session(dsn_18)
    backlog(session, channels, 450)
    session.dequeue(20)

    def consume() -> list[str]:
        consumer = open_session(dsn_18)
        return [name for _ in range(100) for name in names(consumer.dequeue(10))]

    sequences = at_once([consume] * 8)
    for served in sequences:
        assert spread(served, channels) <= 1
    total = Counter(name for served in sequences for name in served)
    assert sum(total.values()) == 8000
    assert max(total.values()) - min(total.values()) <= 8


@pytest.mark.parametrize("limit", [1, 4, 6, 25])
def test_a_weight_is_so_many_messages_a_turn(session: Session, limit: int) -> None:
    weights = {"three": 3, "one": 1, "two": 2}
    for channel, weight in weights.items():
        session.set(channel, weight=weight)
        session.fill(channel, 60)
    served: list[str] = []
    while len(served) < 90:
        served += names(session.dequeue(limit))
    assert turns_apart(served[:90], weights) == 1
    assert Counter(served[:90]) == {"three": 45, "two": 30, "one": 15}


def test_a_weight_that_is_lowered_in_the_middle_of_a_turn_ends_it(session: Session) -> None:
    session.set("a", weight=3)
    session.fill("a", 9)
    session.fill("b", 9)
    while session.dequeue()[0].channel != "a":
        pass
    assert names(session.dequeue()) == ["a"]
    session.set("a", weight=1)
    assert sorted(name for _ in range(4) for name in names(session.dequeue())) == [
        "a",
        "a",
        "b",
        "b",
    ]


def test_a_place_that_nobody_handed_out_does_no_harm(session: Session) -> None:
    session.fill("a", 20)
    session.dequeue()
    for cursor in ([0, 0, 99], [10**15, 5, 0], [-1, -1, -7], [1, 10**15, 2**62], [2**62, 2**62, 1]):
        session.cursor = cursor
        assert names(session.dequeue()) == ["a"]


def test_a_weight_counts_in_a_channel_with_limits_too(session: Session) -> None:
    weights = {"a": 3, "b": 1}
    session.set("a", weight=3, max_concurrency=100)
    session.set("b", weight=1, max_concurrency=100)
    for channel in weights:
        session.fill(channel, 60)
    served = [name for limit in (1, 1, 1, 1, 2, 5, 1, 8) for name in names(session.dequeue(limit))]
    assert turns_apart(served, weights) == 1


@on_18
def test_a_caller_without_a_place_is_fair_on_average(session: Session) -> None:
    channels = numbered("c", 8)
    backlog(session, channels, 100)
    served: list[str] = []
    for _ in range(400):
        session.cursor = None
        served += names(session.dequeue())
    counts = Counter(served)
    assert min(counts.values()) >= 20  # 50 is the mean, and 20 is more than four deviations away
    assert max(counts.values()) <= 80


@on_18
def test_of_channels_that_become_ready_in_one_instant_none_is_favoured(
    session: Session, clock: Clock
) -> None:
    session.create("other")
    session.drain()
    first = Counter[str]()
    for _ in range(120):
        session.create_many(["a", "z"])
        served = names(session.drain(1))
        assert sorted(served) == ["a", "z"]
        first[served[0]] += 1
    assert 30 <= first["a"] <= 90  # five deviations


@on_18
@pytest.mark.parametrize("weight", [1, 2])
def test_a_channel_that_flaps_takes_no_more_than_its_turn(session: Session, weight: int) -> None:
    channels = numbered("c", 5)
    backlog(session, channels, 80)
    session.set(
        "flap", weight=weight
    )  # of two, it gives less than it may and leaves the ring each time
    session.create("flap")
    served: list[str] = []
    for _ in range(300):
        served += names(leases := session.dequeue())
        session.complete(*leases)
        if served[-1] == "flap":
            session.create("flap")
    assert spread((name for name in served if name != "flap"), channels) == 1
    assert 40 <= served.count("flap") <= 51


@on_18
def test_many_channels_that_flap_do_not_starve_one_that_has_a_backlog(session: Session) -> None:
    session.fill("backlog", 100)
    flapping = numbered("f", 10)
    for channel in flapping:
        session.set(channel, weight=2)
    session.create_many(flapping)
    served: list[str] = []
    for _ in range(220):
        served += names(leases := session.dequeue())
        session.complete(*leases)
        if served[-1] != "backlog":
            session.create(served[-1])
    gaps = [index for index, name in enumerate(served) if name == "backlog"]
    assert max(later - earlier for earlier, later in itertools.pairwise(gaps)) <= 12
    assert spread((name for name in served if name != "backlog"), flapping) <= 2


def test_every_quiet_tenant_is_served_within_one_round_of_a_hot_one(
    open_session: OpenSession, dsn_18: str
) -> None:
    session, quiet = open_session(dsn_18), numbered("quiet", 999)
    session.fill("hot", 5000)
    session.dequeue(3)
    session.create_many(quiet)
    served: list[str] = []
    while len(served) < 1000:
        served += names(session.dequeue(50))
    assert len(set(served[:1000]) & set(quiet)) >= 990
    assert set(quiet) <= {*served, *names(session.dequeue(50))}


def test_order_within_a_channel_is_by_time_and_then_by_creation(
    session: Session, clock: Clock
) -> None:
    now = clock.now()
    times = [now, now - 5, -10, now - 5, now, 0]
    ids = [each.id for each in session.create_many(["a"] * 6, dequeue_ats=times)]
    expected = [each for _, each in sorted(zip(times, ids, strict=True))]
    assert [each.id for limit in (1, 2, 3) for each in session.dequeue(limit)] == expected


def make_saturated(session: Session, channels: list[str]) -> None:
    session.queue_set(default_max_concurrency=1)
    session.create_many(channels * 2)
    while session.dequeue(1000, 10**9):
        pass


def make_throttled(session: Session, channels: list[str]) -> None:
    session.queue_set(default_min_interval_ms=10**9)
    session.create_many(channels * 2)
    while session.dequeue(1000, 10**9):
        pass


def make_paused(session: Session, channels: list[str]) -> None:
    session.create_many(channels)
    session.rows("select count(lonnymq.channel_pause(c)) from unnest(%s::text[]) c", channels)


def make_scheduled(session: Session, channels: list[str]) -> None:
    session.create_many(channels, delays_ms=[10**9] * len(channels))


def make_empty(session: Session, channels: list[str]) -> None:
    session.create_many(channels)
    session.drain(1000)


@pytest.mark.parametrize(
    "make", [make_saturated, make_throttled, make_paused, make_scheduled, make_empty]
)
def test_a_channel_that_cannot_be_served_is_not_scanned(
    open_session: OpenSession, dsn_18: str, make: object
) -> None:
    """The pages that a dequeue touches with ten such channels and with a thousand."""
    assert callable(make)
    session = open_session(dsn_18)
    session.set("busy", weight=1, max_concurrency=None, min_interval_ms=None)
    touched = []
    for channels in (numbered("few", 10), numbered("many", 1000)):
        make(session, channels)
        session.fill("busy", 100)
        session.drain(10)
        session.fill("busy", 100)
        session.drain(10, most=10)
        session.rows("vacuum analyze")
        session.drain(10, most=30)
        # The least: a call that comes 20 ms after the last fold folds again, which a slow machine makes more of.
        touched.append(min(session.dequeue_buffers() for _ in range(9)))
    assert touched[1] <= touched[0] * 1.3 + 10


def test_consumers_that_share_the_work_have_each_their_own_place(
    session: Session, another: Session
) -> None:
    channels = numbered("c", 4)
    backlog(session, channels, 20)
    sequences: list[list[str]] = [[], []]
    for _ in range(30):
        for served, consumer in zip(sequences, (session, another), strict=True):
            served += names(consumer.dequeue())
    assert [spread(served, channels) for served in sequences] == [1, 1]


def test_channels_told_of_after_more_notes_than_one_fold_reads_take_part_at_once(
    open_session: OpenSession, dsn_18: str
) -> None:
    session = open_session(dsn_18)
    # A dequeue folds for 50 ms, which are too short for three folds on a busy machine.
    function = session.value("select pg_get_functiondef('lonnymq.walk_fold'::regproc)")
    assert function.count("50 milliseconds") == 1
    session.rows(function.replace("50 milliseconds", "10 minutes"))
    session.value(
        "select count(*) from generate_series(1, 3000) i,"
        " lateral lonnymq.message_create('a', i::text::bytea)"
    )
    for channel in "bcde":
        session.fill(channel, 300)
    served = Counter(each.channel for each in session.dequeue(500))
    assert served == dict.fromkeys("abcde", 100)


@pytest.mark.parametrize("cursor", [None, [5, 2**63 - 1, 0], [5, -(2**63), 0], [5, 1 - 2**63, 0]])
def test_a_channel_that_comes_and_goes_does_not_starve_others_whatever_the_consumer_began_with(
    open_session: OpenSession, dsn_18: str, cursor: list[int] | None
) -> None:
    """The first message is leased directly, while the ring is empty."""
    session, other = open_session(dsn_18), open_session(dsn_18)
    session.fill("comes and goes", 1)
    other.complete(*other.dequeue(1))
    assert other.dequeue(1) == []
    session.fill("comes and goes", 1)
    session.cursor = cursor
    session.complete(*session.dequeue(1))
    session.fill("waits", 9)
    served = ["comes and goes"]
    for _ in range(12):
        if served[-1] == "comes and goes":
            session.fill("comes and goes", 1)
        [lease] = session.dequeue(1)
        session.complete(lease)
        served.append(lease.channel)
    assert 5 <= served.count("waits") <= 7
