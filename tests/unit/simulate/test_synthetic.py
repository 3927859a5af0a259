"""Workloads that are made up: the same from the same seed, and of the shape that was asked for."""

from collections import Counter

import pytest

from lonnymq.errors import InvalidArgument
from lonnymq.simulate import WorkloadShape, make_workload, replay
from lonnymq.simulate.synthetic import make_attempts


def test_the_same_seed_gives_the_same_workload_and_another_one_another() -> None:
    shape = WorkloadShape(messages=500, failing=0.1)
    assert make_workload(shape) == make_workload(shape)
    assert make_workload(shape) != make_workload(WorkloadShape(messages=500, failing=0.1, seed=2))


@pytest.mark.parametrize("arrivals", ["steady", "bursts", "daily"])
def test_as_many_messages_come_as_were_asked_for_in_the_order_of_time(arrivals) -> None:
    made = make_workload(WorkloadShape(messages=2_000, arrivals=arrivals))
    assert len(made) == 2_000
    assert list(made.created_at) == sorted(made.created_at)
    assert set(made.channel) <= set(range(len(made.names)))


@pytest.mark.parametrize("service", ["fixed", "exponential", "heavy"])
def test_service_takes_so_long_on_average(service) -> None:
    made = make_workload(WorkloadShape(messages=50_000, service=service, service_ms=200))
    assert sum(made.service_ms) / len(made) == pytest.approx(200, rel=0.15)


def test_workers_are_busy_for_the_share_that_was_asked_for() -> None:
    made = make_workload(WorkloadShape(messages=50_000, workers=10, load=0.5))
    span = made.created_at[-1] - made.created_at[0]
    assert sum(made.service_ms) / (10 * span) == pytest.approx(0.5, rel=0.05)


def test_a_noisy_tenant_sends_its_share_and_the_others_alike() -> None:
    made = make_workload(WorkloadShape(messages=50_000, tenants=11, noisy=0.5))
    sent = [made.channel.count(tenant) / len(made) for tenant in range(11)]
    assert sent[0] == pytest.approx(0.5, abs=0.02)
    assert sent[1:] == pytest.approx([0.05] * 10, abs=0.01)


def test_by_night_less_comes_than_by_day() -> None:
    made = make_workload(
        WorkloadShape(messages=40_000, arrivals="daily", service_ms=30_000, workers=20)
    )
    hours = [(at - made.created_at[0]) // 3_600_000 % 24 for at in made.created_at]
    noon = sum(10 <= hour < 14 for hour in hours)
    night = sum(hour >= 22 or hour < 2 for hour in hours)
    assert noon > 5 * night > 0


def test_what_fails_comes_again_when_its_first_attempt_has_ended() -> None:
    made = make_workload(WorkloadShape(messages=1_000, failing=0.2, retry_ms=500))
    assert len(made) - 1_000 == len(made.after) > 100
    replayed = replay(made, {}, workers=16)
    for later, (first, gap) in made.after.items():
        assert gap == 500
        ended = replayed.started_at[first] + made.service_ms[first]
        assert replayed.started_at[later] >= ended + 500


def test_a_message_that_fails_each_time_is_dead_and_one_that_defers_keeps_its_attempts() -> None:
    made = make_attempts(WorkloadShape(messages=2_000, failing=0.3, deferring=0.2, max_attempts=3))
    last = dict(zip(made.message, made.outcome, strict=True))
    counts = Counter(made.outcome)
    assert set(last.values()) == {"completed", "dead"}
    assert counts["dead"] / 2_000 == pytest.approx((0.3 / 0.8) ** 3, rel=0.3)
    assert counts["expired"] < counts["failed"]
    tried = Counter(m for m, o in zip(made.message, made.outcome, strict=True) if o != "deferred")
    dead = [message for message, outcome in last.items() if outcome == "dead"]
    assert dead
    assert all(tried[message] == 3 for message in dead)
    assert all(
        made.message[later] == made.message[before] and before < later
        for later, (before, _) in made.after.items()
    )


@pytest.mark.parametrize(
    "wrong",
    [
        *({"tenants": 0}, {"load": 0}, {"noisy": 1.5}, {"failing": -1}, {"messages": -1}),
        *({"deferring": 2}, {"max_attempts": 0}),
    ],
)
def test_a_shape_that_cannot_be_is_refused_with_its_name(wrong) -> None:
    [name] = wrong
    with pytest.raises(InvalidArgument, match=name):
        WorkloadShape(**wrong)
