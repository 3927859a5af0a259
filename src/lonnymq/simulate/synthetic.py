"""Workloads made up from a seed: tenants that send evenly, in bursts or by day and night, and one that floods."""

from __future__ import annotations

import random
from bisect import bisect
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from math import pi, sin
from typing import Literal

from lonnymq.errors import InvalidArgument
from lonnymq.simulate.replay import Workload

Arrivals = Literal["steady", "bursts", "daily"]
Service = Literal["fixed", "exponential", "heavy"]
DAY_MS = 86_400_000
BURST = 50
TAIL = 1.5  # of the Pareto distribution: a finite mean, and no finite variance


@dataclass(frozen=True, slots=True)
class Shape:
    """What a made-up workload is like; the same shape and seed give the same workload.

    `load` is the share of the time for which so many `workers` would be busy.
    `noisy` is the share of all messages that one tenant sends; the others send alike.
    `failing` is the share of attempts that fail and are tried once more after `retry_ms`.
    """

    messages: int = 100_000
    tenants: int = 100
    workers: int = 16
    load: float = 0.8
    service_ms: int = 100
    arrivals: Arrivals = "steady"
    service: Service = "exponential"
    noisy: float = 0.0
    failing: float = 0.0
    retry_ms: int = 1000
    start_at: int = 1_700_000_000_000
    seed: int = 1

    def __post_init__(self) -> None:
        for name, least in (("messages", 0), ("tenants", 1), ("workers", 1), ("service_ms", 1)):
            if getattr(self, name) < least:
                raise InvalidArgument(f"{name} must be at least {least}, not {getattr(self, name)}")
        if not self.load > 0:
            raise InvalidArgument(f"load must be more than 0, not {self.load}")
        for name in ("noisy", "failing"):
            if not 0 <= getattr(self, name) <= 1:
                raise InvalidArgument(f"{name} must be from 0 to 1, not {getattr(self, name)}")


def workload(shape: Shape) -> Workload:
    """Make a workload up."""
    rng = random.Random(shape.seed)  # noqa: S311 - the same again is what is wanted
    names = tenant_names(shape.tenants)
    tenants = tenant_of(shape, rng)
    created, channel, service = [], [], []
    sent = 0
    for moment, many in moments(shape, rng):
        tenant = next(tenants)
        for _ in range(min(many, shape.messages - sent)):
            sent += 1
            created.append(shape.start_at + round(moment))
            channel.append(tenant)
            service.append(service_time(shape, rng))
        if sent >= shape.messages:
            break
    after = {}
    for number in range(len(created)):
        if rng.random() < shape.failing:
            after[len(created)] = (number, shape.retry_ms)
            created.append(created[number])
            channel.append(channel[number])
            service.append(service_time(shape, rng))
    return Workload(names, channel, created, list(created), service, after)


def tenant_names(count: int) -> list[str]:
    """Names that sort by number; the first is the noisy one."""
    return [f"tenant-{number:0{len(str(count))}}" for number in range(1, count + 1)]


def tenant_of(shape: Shape, rng: random.Random) -> Iterator[int]:
    """Who sends next: the noisy tenant has its share, the others an equal part of the rest."""
    alike = 1 / shape.tenants
    first = max(shape.noisy, alike) if shape.noisy else alike
    rest = (1 - first) / max(1, shape.tenants - 1)
    edges = list(accumulate([first] + [rest] * (shape.tenants - 1)))
    while True:
        yield min(bisect(edges, rng.random() * edges[-1]), shape.tenants - 1)


def moments(shape: Shape, rng: random.Random) -> Iterator[tuple[float, int]]:
    """When messages come, in milliseconds from the start, and how many at once."""
    rate = shape.workers * shape.load / shape.service_ms
    now = 0.0
    while True:
        if shape.arrivals == "bursts":
            now += rng.expovariate(rate / BURST)
            yield now, rng.randrange(1, 2 * BURST)
        elif shape.arrivals == "daily":
            # Twice the rate, of which noon keeps nearly all and midnight next to none.
            now += rng.expovariate(2 * rate)
            if rng.random() < (1 + 0.9 * sin(2 * pi * (now / DAY_MS - 0.25))) / 2:
                yield now, 1
        else:
            now += rng.expovariate(rate)
            yield now, 1


def service_time(shape: Shape, rng: random.Random) -> int:
    """How long one message takes."""
    if shape.service == "fixed":
        return shape.service_ms
    if shape.service == "heavy":
        return max(1, round(rng.paretovariate(TAIL) * shape.service_ms * (TAIL - 1) / TAIL))
    return max(1, round(rng.expovariate(1 / shape.service_ms)))
