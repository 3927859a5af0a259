"""The rate of a channel: `min_interval_ms` with `burst`, by the generic cell rate algorithm."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

from .statements import Policy


class Rate:
    """The timestamp of the generic cell rate algorithm: the earliest and the latest that it may be.

    After a change of the rate the leases before it need not count any more, but may.
    """

    def __init__(self) -> None:
        self.low = self.high = 0
        self.low_rate: tuple[int | None, int] = (None, 1)

    def allows(self, tat: float, policy: Policy, now: int) -> float:
        """How many leases are allowed now if the timestamp is `tat`."""
        interval, burst = policy.rate
        if interval is None:
            return inf
        return max(0, (now + burst * interval - max(tat, now)) // interval)

    def moved(
        self, grants: Iterable[tuple[tuple[int | None, int], int]], policy: Policy
    ) -> tuple[int, int]:
        """Both timestamps after leases that were granted under a rate at a time."""
        low = self.low if self.low_rate == policy.rate else 0
        high = self.high
        for (interval, burst), at in grants:
            if interval is not None:
                high = max(high, at) + interval
                if (interval, burst) == policy.rate:
                    low = max(low, at) + interval
        return low, high
