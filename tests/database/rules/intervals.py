"""Exact checks of limits over recorded leases: every interval and every pair of leases, nothing is sampled."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Interval = tuple[int, int]


def most_at_once(intervals: Iterable[Interval]) -> int:
    """The largest number of intervals, half open, that contain one instant."""
    events = sorted((at, step) for begin, end in intervals for at, step in ((begin, 1), (end, -1)))
    most = running = 0
    for _, step in events:  # at equal times an end sorts before a begin
        running += step
        most = max(most, running)
    return most


def at_moment(intervals: Iterable[Interval], moment: int) -> int:
    """How many intervals, half open, contain a moment."""
    return sum(begin <= moment < end for begin, end in intervals)


def rate_violations(moments: Sequence[int], interval_ms: int, burst: int) -> list[Interval]:
    """Every pair of leases with more leases from the one to the other than the rate allows for that time."""
    ordered = sorted(moments)
    return [
        (first, ordered[later])
        for index, first in enumerate(ordered)
        for later in range(index + burst, len(ordered))
        if later - index + 1 > burst + (ordered[later] - first) // interval_ms
    ]
