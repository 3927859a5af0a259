"""The result of a replay: waits of each tenant, and fairness between tenants with a backlog."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lonnymq.fairness import jain_index
from lonnymq.simulate.workload import ReplayTimes, Workload

HOUR_MS = 3_600_000
BACKLOG_MS = 1000  # a tenant whose messages wait longer than that has a backlog


@dataclass(frozen=True, slots=True)
class WaitStats:
    """Statistics of waits in milliseconds, from due to started."""

    messages: int
    mean: float
    p50: int
    p95: int
    p99: int
    longest: int


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """Waits of all tenants together and of each, and fairness.

    `fairness` is Jain's index of attempts per weight over tenants with a backlog: the mean over hours with two or more
    such tenants, None without such an hour. `shares` has the share of each tenant in those hours: 1 is a fair share.
    """

    all: WaitStats
    tenants: dict[str, WaitStats]
    fairness: float | None
    shares: dict[str, float] = field(default_factory=dict)


def summarize_replay(
    work: Workload,
    replayed: ReplayTimes,
    counted: Sequence[int] | None = None,
    weights: Mapping[str, int] | None = None,
) -> ReplayResult:
    """Summarize all attempts of a replay, or those in `counted`; the default weight is 1."""
    started, channel = replayed.started_at, work.channel
    waits = list(map(int.__sub__, started, map(max, replayed.due_at, work.created_at)))
    if counted is not None:
        waits = [waits[number] for number in counted]
        started = [started[number] for number in counted]
        channel = [channel[number] for number in counted]
    by_tenant: list[list[int]] = [[] for _ in work.names]
    for number, wait in zip(channel, waits, strict=True):
        by_tenant[number].append(wait)
    known = weights or {}
    heavy = [known.get(name, 1) for name in work.names]
    even, shares = measure_fairness(heavy, channel, started, waits)
    return ReplayResult(
        summarize_waits(waits),
        {
            name: summarize_waits(own)
            for name, own in zip(work.names, by_tenant, strict=True)
            if own
        },
        even,
        {work.names[number]: share for number, share in shares.items()},
    )


def summarize_waits(waits: Sequence[int]) -> WaitStats:
    """Nearest-rank percentiles; zeros without waits."""
    if not waits:
        return WaitStats(0, 0.0, 0, 0, 0, 0)
    ordered, last = sorted(waits), len(waits) - 1
    p50, p95, p99 = (ordered[min(last, len(waits) * part // 100)] for part in (50, 95, 99))
    return WaitStats(len(waits), sum(waits) / len(waits), p50, p95, p99, ordered[-1])


def measure_fairness(
    weights: Sequence[int], channel: Sequence[int], started: Sequence[int], waits: Sequence[int]
) -> tuple[float | None, dict[int, float]]:
    """Jain's index over tenants with a backlog, as a mean of hours, and the share of each tenant."""
    if max(waits, default=0) <= BACKLOG_MS:
        return None, {}
    many = len(weights)
    hours = [at // HOUR_MS * many + number for at, number in zip(started, channel, strict=True)]
    late = {hour for hour, wait in zip(hours, waits, strict=True) if wait > BACKLOG_MS}
    served: dict[int, dict[int, float]] = {}
    for hour, count in Counter(hours).items():
        if hour in late:
            number = hour % many
            served.setdefault(hour // many, {})[number] = count / weights[number]
    among = [given for given in served.values() if len(given) > 1]
    had: dict[int, float] = {}
    mean: dict[int, float] = {}
    for given in among:
        alike = sum(given.values()) / len(given)
        for number, part in given.items():
            had[number] = had.get(number, 0) + part
            mean[number] = mean.get(number, 0) + alike
    index = [jain_index(given.values()) or 1.0 for given in among]
    even = sum(index) / len(index) if index else None
    return even, {number: had[number] / mean[number] for number in sorted(had)}
