"""Growing pauses between tries, for everything in this package that waits for a database or a process."""

from __future__ import annotations

import random


class Backoff:
    """Doubles the pause after each try, up to a maximum.

    Each pause is random between half and all of that, so that processes which failed together do not retry together.
    """

    def __init__(self, *, first: float = 0.05, longest: float = 2.0) -> None:
        self.first, self.longest, self.tries = first, longest, 0

    def reset(self) -> None:
        """Start again with the shortest pause after a try that succeeded."""
        self.tries = 0

    def next_delay(self) -> float:
        """Return the seconds to wait before the next try."""
        delay = min(self.longest, self.first * 2 ** min(self.tries, 30))
        self.tries += 1
        return random.uniform(delay / 2, delay)  # noqa: S311 - spreads load

    async def sleep(self) -> None:
        """Wait before the next try."""
        import asyncio  # executors of Spark do without, and start sooner

        await asyncio.sleep(self.next_delay())
