"""How fast messages are created, from how far they were numbered at each look."""

from __future__ import annotations

from collections import deque

from lonnymq.dashboard.figures import per_second

WINDOW_MS = 10_000


class Creating:
    """How many messages are created a second, from how far they were numbered at each look."""

    def __init__(self) -> None:
        self.looks: deque[tuple[int, int]] = deque(maxlen=60)

    def per_second(self, now_at: int, last_id: int) -> float | None:
        """The rate since the first look of the last ten seconds; unknown at the first one."""
        while self.looks and self.looks[0][0] < now_at - WINDOW_MS and len(self.looks) > 1:
            self.looks.popleft()
        first = self.looks[0] if self.looks else None
        self.looks.append((now_at, last_id))
        if first is None or first[0] < now_at - 6 * WINDOW_MS or first[1] > last_id:
            return None
        return per_second(last_id - first[1], now_at - first[0])
