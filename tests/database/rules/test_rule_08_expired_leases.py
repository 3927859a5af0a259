"""Rule 8: a lease that runs out goes back to its place in the line; what kills its workers dies in the end."""

import pytest

from database.rules.factories import Session
from lonnymq.testing import Clock


def test_a_lease_that_ran_out_is_leased_again_at_its_place_in_the_line(
    session: Session, clock: Clock
) -> None:
    first, second, third = session.fill("a", 3)
    session.dequeue(1, 1000)
    session.dequeue(1, 60_000)
    clock.advance(999)
    assert [each.id for each in session.dequeue(1, 60_000)] == [third]
    clock.advance(1)
    [again] = session.dequeue(1, 60_000)
    assert (again.id, again.attempt) == (first, 2)
    assert second != again.id
    assert session.check() == []


def test_a_lease_that_ran_out_comes_before_what_was_created_later(
    session: Session, clock: Clock
) -> None:
    [stuck] = session.fill("a", 1)
    session.dequeue(1, 1000)
    session.fill("a", 3)
    session.dequeue(1, 60_000)
    clock.advance(1000)
    assert session.dequeue(1)[0].id == stuck


def test_a_channel_whose_leases_ran_out_takes_its_turn_like_the_others(
    session: Session, clock: Clock
) -> None:
    for channel in "abc":
        session.fill(channel, 12)
    held = session.dequeue(36, 1000)
    clock.advance(1000)
    session.complete(*[each for each in held if each.channel != "b"])
    for channel in "ac":
        session.fill(channel, 12)
    served = [session.dequeue()[0].channel for _ in range(36)]
    for turn in range(3, 34, 3):
        counts = [served[:turn].count(channel) for channel in "abc"]
        assert (
            max(counts) - min(counts) <= 2
        )  # it comes back in the middle of a lap, and joins the next
    assert sorted(served.count(channel) for channel in "abc") in ([11, 12, 13], [12, 12, 12])


@pytest.mark.parametrize("by", ["dequeue", "sweep"])
def test_leases_that_ran_out_stay_under_the_limit_of_their_channel(
    session: Session, clock: Clock, by: str
) -> None:
    session.set("a", max_concurrency=2)
    session.queue_set(max_concurrency=3)
    session.fill("a", 9)
    assert len(session.dequeue(9, 1000)) == 2
    assert len(session.dequeue(9, 1000)) == 0
    clock.advance(1000)
    if by == "sweep":
        assert session.maintain().expired == 2
    assert len(session.dequeue(9, 1000)) == 2
    assert len(session.dequeue(9, 1000)) == 0
    assert session.check() == []


def test_leases_that_ran_out_stay_under_the_rate_of_their_channel(
    session: Session, clock: Clock
) -> None:
    session.set("a", min_interval_ms=10_000)
    session.create("a")
    assert len(session.dequeue(9, 1000)) == 1
    clock.advance(5000)
    assert session.dequeue(9) == []
    clock.advance(5000)
    assert len(session.dequeue(9)) == 1


def test_a_lease_that_ran_out_in_a_paused_channel_waits_for_its_resumption(
    session: Session, clock: Clock
) -> None:
    session.create("a")
    session.dequeue(1, 1000)
    session.rows("select lonnymq.channel_pause('a')")
    clock.advance(2000)
    assert session.dequeue() == []
    session.rows("select lonnymq.channel_resume('a')")
    assert len(session.dequeue()) == 1


@pytest.mark.parametrize("minutes", [0.5, 10])
def test_a_lease_that_was_committed_long_after_it_was_given_runs_out_all_the_same(
    session: Session, another: Session, clock: Clock, minutes: float
) -> None:
    session.fill("a", 2)
    with another.open():
        [late] = another.dequeue_once(1, 1000)
        for _ in range(3):
            clock.advance(int(minutes * 20_000))
            session.dequeue_once()
    session.maintain()
    clock.advance(2000)
    assert late.id in [each.id for each in session.dequeue(2)]
    assert session.check() == []


@pytest.mark.parametrize("minutes", [0.5, 10])
def test_a_channel_that_was_throttled_by_a_dequeue_that_committed_late_wakes_all_the_same(
    session: Session, another: Session, clock: Clock, minutes: float
) -> None:
    session.set("a", min_interval_ms=1000)
    session.fill("a", 3)
    with another.open():
        assert len(another.dequeue_once(1, 10**9)) == 1
        for _ in range(3):
            clock.advance(int(minutes * 20_000))
            session.dequeue_once()
    clock.advance(2000)
    session.maintain()
    assert len(session.dequeue(2)) == 1
    assert session.check() == []


@pytest.mark.parametrize("most", [1, 3])
def test_a_message_that_kills_its_workers_is_dead_after_exactly_its_attempts(
    session: Session, clock: Clock, most: int
) -> None:
    session.set("a", max_attempts=most, max_concurrency=5, max_size=50)
    [poison, sound] = session.fill("a", 2)
    deliveries = 0
    for _ in range(10):
        for lease in session.dequeue(5, 1000):
            if lease.id == poison:
                deliveries += 1
                assert lease.attempt == deliveries
            else:
                session.complete(lease)
        clock.advance(1000)
    assert deliveries == most
    [dead] = session.rows("select * from lonnymq.dead")
    assert (dead.id, dead.attempt, dead.died_at) == (poison, most, dead.died_at)
    outcomes = session.column(
        "select outcome from lonnymq.history where message_id = %s order by attempt", poison
    )
    assert outcomes == ["expired"] * (most - 1) + ["dead"]
    assert session.value("select count(*) from lonnymq.history where message_id = %s", sound) == 1
    assert session.check() == []


def test_a_message_that_fails_is_dead_after_exactly_its_attempts(
    session: Session, clock: Clock
) -> None:
    session.set("a", max_attempts=3, retry_delays_ms=[100, 1000], retry_jitter=0)
    session.create("a")
    answers, waits = [], []
    for _ in range(3):
        leases = session.dequeue()
        answers += session.settle("fail", leases, errors=["no luck"])
        due = session.column("select dequeue_at from lonnymq.message")
        waits += [at - clock.now() for at in due]
        clock.advance(1000)
    assert (answers, waits) == (["retrying", "retrying", "dead"], [100, 1000])
    assert session.dequeue() == []


def test_a_defer_does_not_use_up_an_attempt(session: Session) -> None:
    session.set("a", max_attempts=1)
    session.create("a")
    for _ in range(5):
        [lease] = session.dequeue()
        assert lease.attempt == 1
        assert session.settle("defer", [lease], states=[b"state"]) == ["deferred"]
    assert session.dequeue()[0].state == b"state"
    assert session.value("select count(*) from lonnymq.dead") == 0


def test_a_heartbeat_keeps_a_lease_from_running_out(session: Session, clock: Clock) -> None:
    session.create("a")
    leases = session.dequeue(1, 1000)
    for _ in range(5):
        clock.advance(900)
        assert session.settle("heartbeat", leases, lease_ms=1000) == ["extended"]
        assert session.dequeue() == []
    clock.advance(1000)
    session.dequeue()
    clock.advance(1000)  # a lease that was extended is looked at again within a second
    assert session.settle("complete", leases) == ["lease_lost"]


def test_a_lease_made_shorter_by_a_heartbeat_runs_out_when_it_says(
    session: Session, clock: Clock
) -> None:
    session.create("a")
    leases = session.dequeue(1, 600_000)
    assert session.settle("heartbeat", leases, lease_ms=1000) == ["extended"]
    clock.advance(1000)
    assert len(session.dequeue()) == 1


def test_a_redriven_message_stands_where_it_stood_with_all_its_attempts(
    session: Session, clock: Clock
) -> None:
    session.set("a", max_attempts=1)
    [poison] = session.fill("a", 1)
    session.settle("fail", session.dequeue(), errors=["x"])
    clock.advance(1000)
    session.fill("a", 2)
    assert (
        session.rows("select * from lonnymq.dead_redrive(p_channel => 'a')")[0].answer == "redriven"
    )
    [again] = session.dequeue()
    assert (again.id, again.attempt) == (poison, 1)
    assert session.check() == []
