"""What a queue keeps between two dequeues: cursors that say where the next one goes on, and pauses between tries."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

MAX_TRIES = 50
MAX_SECONDS = 0.25
MAX_PAUSE = 0.02


@dataclass(slots=True)
class DequeueCursor:
    """Where one consumer goes on, as its last dequeue answered it."""

    position: list[int] | None = None


class DequeueCursors:
    """Lends a cursor to each dequeue that runs at the moment.

    A cursor has one user at a time, so that W calls at once are W consumers, each with its own round of the channels.
    A single cursor for all would jump back when a slow call ends after a quick one, and favour the channels there.
    """

    def __init__(self) -> None:
        self.idle: list[DequeueCursor] = []

    @contextmanager
    def lend(self) -> Iterator[DequeueCursor]:
        """Lend the cursor that was used last, or a new one if all are in use."""
        try:
            cursor = self.idle.pop()
        except IndexError:
            cursor = DequeueCursor()
        try:
            yield cursor
        finally:
            self.idle.append(cursor)


def retry_pauses() -> Iterator[float]:
    """The pauses, short and random, between tries of a contended dequeue."""
    give_up_at = time.monotonic() + MAX_SECONDS
    for attempt in range(MAX_TRIES):
        yield random.uniform(0, min(MAX_PAUSE, 0.0005 * 2**attempt))  # noqa: S311 - spreads load, hides nothing
        if time.monotonic() >= give_up_at:
            return
