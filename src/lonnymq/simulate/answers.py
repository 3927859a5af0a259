"""What a replay says: how long each tenant waited, and whether those with a backlog were served alike."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lonnymq.simulate.replay import Replayed, Workload

HOUR_MS = 3_600_000
BACKLOG_MS = 1000  # a tenant whose messages wait longer than that has a backlog


@dataclass(frozen=True, slots=True)
class Waits:
    """How long messages waited, in milliseconds, from being due to being begun."""

    messages: int
    mean: float
    p50: int
    p95: int
    p99: int
    longest: int


@dataclass(frozen=True, slots=True)
class Answer:
    """One replay: all tenants together, each by itself, and how even the turns were."""

    all: Waits
    tenants: dict[str, Waits]
    fairness: float | None  # Jain's index, mean over the hours in which two or more had a backlog


def answer(work: Workload, replayed: Replayed) -> Answer:
    """Sum a replay up."""
    by_tenant: list[list[int]] = [[] for _ in work.names]
    waits = [
        started - max(due, created)
        for started, due, created in zip(
            replayed.started_at, replayed.due_at, work.created_at, strict=True
        )
    ]
    for channel, wait in zip(work.channel, waits, strict=True):
        by_tenant[channel].append(wait)
    return Answer(
        summary(waits),
        {name: summary(own) for name, own in zip(work.names, by_tenant, strict=True) if own},
        fairness(work, replayed, waits),
    )


def summary(waits: Sequence[int]) -> Waits:
    """Percentiles, each a wait that was; zeros if there was none."""
    if not waits:
        return Waits(0, 0.0, 0, 0, 0, 0)
    ordered, last = sorted(waits), len(waits) - 1
    p50, p95, p99 = (ordered[min(last, len(waits) * part // 100)] for part in (50, 95, 99))
    return Waits(len(waits), sum(waits) / len(waits), p50, p95, p99, ordered[-1])


def fairness(work: Workload, replayed: Replayed, waits: Sequence[int]) -> float | None:
    """Jain's index of what each backlogged tenant was given, hour by hour."""
    served: dict[int, dict[int, int]] = {}
    backlogged: set[tuple[int, int]] = set()
    for channel, started, wait in zip(work.channel, replayed.started_at, waits, strict=True):
        hour = started // HOUR_MS
        in_hour = served.setdefault(hour, {})
        in_hour[channel] = in_hour.get(channel, 0) + 1
        if wait > BACKLOG_MS:
            backlogged.add((hour, channel))
    found = [
        jain(counts)
        for hour, by_channel in served.items()
        if len(counts := [n for c, n in by_channel.items() if (hour, c) in backlogged]) > 1
    ]
    return sum(found) / len(found) if found else None


def jain(shares: Iterable[float]) -> float:
    """1 if all are equal, 1/n if one has everything."""
    given = list(shares)
    squares = sum(each * each for each in given)
    return sum(given) ** 2 / (len(given) * squares) if squares else 1.0
