"""Replays whose answers can be worked out by hand, and one that queueing theory knows."""

import heapq
import math
import random

import pytest

from lonnymq.simulate.replay import replay
from lonnymq.simulate.ring import Limits
from lonnymq.simulate.workload import Workload

SERVERS, LOAD, MEAN = 10, 0.8, 1000


def work(*rows: tuple[str, int, int], after=None) -> Workload:
    """Rows of channel, arrival and service time."""
    names = sorted({name for name, _, _ in rows})
    arrived = [at for _, at, _ in rows]
    return Workload(
        names,
        [names.index(name) for name, _, _ in rows],
        arrived,
        arrived,
        [service for _, _, service in rows],
        after or {},
    )


def starts(workload: Workload, limits=None, **how) -> list[int]:
    return replay(workload, limits or {}, **{"workers": 1, **how}).started_at


def test_one_worker_serves_one_channel_in_order() -> None:
    assert starts(work(("a", 0, 10), ("a", 0, 10), ("a", 5, 10), ("a", 90, 1))) == [0, 10, 20, 90]


def test_two_channels_take_turns_however_long_their_lines_are() -> None:
    flood = [("a", 0, 10)] * 4
    assert starts(work(*flood, ("b", 1, 10), ("b", 1, 10))) == [0, 20, 40, 50, 10, 30]


def test_a_weight_is_so_many_messages_a_turn() -> None:
    workload = work(*[("a", 0, 10)] * 4, *[("b", 1, 10)] * 2)
    assert starts(workload, {"a": Limits(weight=2)}) == [0, 10, 30, 40, 20, 50]


def test_a_concurrency_limit_holds_with_workers_to_spare() -> None:
    workload = work(*[("a", 0, 10)] * 4)
    assert starts(workload, {"a": Limits(max_concurrency=2)}, workers=8) == [0, 0, 10, 10]
    assert starts(workload, workers=8, max_concurrency=1) == [0, 10, 20, 30]


def test_a_rate_limit_spaces_messages_after_its_burst() -> None:
    limits = {"a": Limits(min_interval_ms=100, burst=2)}
    assert starts(work(*[("a", 0, 1)] * 4), limits, workers=8) == [0, 0, 100, 200]


def test_limits_that_are_not_named_are_those_for_the_others() -> None:
    workload = work(("a", 0, 10), ("a", 0, 10))
    assert starts(workload, workers=2, default_limits=Limits(max_concurrency=1)) == [0, 10]


def test_a_message_for_later_waits_for_its_time() -> None:
    workload = Workload(["a"], [0, 0], [0, 0], [500, 0], [10, 10])
    assert replay(workload, {}, workers=2).started_at == [500, 0]


def test_a_retry_is_due_so_long_after_the_attempt_before_it() -> None:
    workload = work(("a", 0, 100), ("a", 0, 50), ("a", 0, 10), after={2: (0, 1000)})
    replayed = replay(workload, {}, workers=1)
    assert replayed.started_at == [0, 100, 1100]
    assert replayed.due_at[2] == 1100


def test_an_empty_workload_ends_at_once() -> None:
    assert replay(Workload([], [], [], [], []), {}, workers=3).started_at == []


def test_ten_workers_on_one_channel_serve_as_a_plain_line_would() -> None:
    workload = poisson(random.Random(4), 20_000)
    free, expected = [0] * SERVERS, []
    for arrived, service in zip(workload.created_at, workload.service_ms, strict=True):
        expected.append(max(arrived, heapq.heappop(free)))
        heapq.heappush(free, expected[-1] + service)
    assert starts(workload, workers=SERVERS) == expected


def test_a_queue_of_ten_servers_waits_as_erlang_c_says() -> None:
    workload = poisson(random.Random(4), 50_000)
    waited = sum(starts(workload, workers=SERVERS)) - sum(workload.created_at)
    assert waited / len(workload) == pytest.approx(erlang_c(SERVERS, LOAD) * MEAN, rel=0.1)


def poisson(rng: random.Random, count: int) -> Workload:
    """Arrivals at random that keep ten servers busy for four fifths of the time."""
    now, arrived = 0.0, []
    for _ in range(count):
        now += rng.expovariate(SERVERS * LOAD / MEAN)
        arrived.append(round(now))
    service = [round(rng.expovariate(1 / MEAN)) for _ in arrived]
    return Workload(["a"], [0] * count, arrived, arrived, service)


def erlang_c(servers: int, load: float) -> float:
    """The mean wait, in service times."""
    offered = servers * load
    last = offered**servers / math.factorial(servers) / (1 - load)
    below = sum(offered**k / math.factorial(k) for k in range(servers))
    return last / (below + last) / (servers * (1 - load))
