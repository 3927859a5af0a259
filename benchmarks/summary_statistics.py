"""The statistics of the tables: median, spread, percentile, and ratios within a round."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

__all__ = ["median", "percentile", "ratios_by_round", "spread"]


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of the values do not exceed."""
    ordered = sorted(values)
    place = max(1, -(-len(ordered) * round(share * 1000) // 1000))
    return ordered[min(place, len(ordered)) - 1]


def spread(values: Sequence[float]) -> float:
    """Half the range from least to greatest, as a share of the median: what stands after ±."""
    middle = median(values)
    return (max(values) - min(values)) / 2 / middle if middle else 0.0


def ratios_by_round(ours: Sequence[float], theirs: Sequence[float]) -> list[float]:
    """Ours over theirs in each round of one run, where both met the same noise."""
    return [a / b for a, b in zip(ours, theirs, strict=False) if b]
