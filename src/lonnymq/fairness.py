"""Jain's index of fairness, for the dashboard, the simulator and the benchmarks."""

from __future__ import annotations

from collections.abc import Iterable


def jain_index(shares: Iterable[float]) -> float | None:
    """1 if all shares are equal, 1/n if one of n has everything, None for fewer than two or without any share."""
    values = list(shares)
    squares = sum(each * each for each in values)
    if len(values) < 2 or squares == 0:
        return None
    return sum(values) ** 2 / (len(values) * squares)
