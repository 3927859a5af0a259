"""What was read a moment ago, for all who ask the same: many open pages cost the database one set of queries."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable
from typing import Any

KEEP_SECONDS = 1.0
MOST = 500

Read = Callable[[], Awaitable[Any]]


class Kept:
    """Answers by what was asked; whoever asks while it is being read waits for the same answer."""

    def __init__(self, seconds: float = KEEP_SECONDS) -> None:
        self.seconds = seconds
        self.answers: dict[Hashable, tuple[float, asyncio.Task[Any]]] = {}

    async def get(self, asked: Hashable, read: Read) -> Any:
        """The answer, read now unless it was a moment ago."""
        begun, task = self.answers.get(asked, (0.0, None))
        is_fresh = task is not None and (not task.done() or time.monotonic() < begun + self.seconds)
        if task is None or not is_fresh or failed(task):
            task = asyncio.ensure_future(self.reading(read))
            self.keep(asked, task)
        # One reader that leaves does not take the answer from the others.
        return await asyncio.shield(task)

    async def reading(self, read: Read) -> Any:
        """Read."""
        return await read()

    def keep(self, asked: Hashable, task: asyncio.Task[Any]) -> None:
        """Keep an answer that is on its way, and forget the oldest ones."""
        self.answers.pop(asked, None)
        while len(self.answers) >= MOST:
            del self.answers[next(iter(self.answers))]
        self.answers[asked] = (time.monotonic(), task)
        task.add_done_callback(failed)  # an error that nobody waited for is no news


def failed(task: asyncio.Task[Any]) -> bool:
    """Whether an answer could not be read."""
    return task.done() and (task.cancelled() or task.exception() is not None)
