"""What a queue remembers between two dequeues: its place in the ring of channels, and how patient it is."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

MOST_TRIES = 50
MOST_SECONDS = 0.25
LONGEST_PAUSE = 0.02


@dataclass(slots=True)
class Turn:
    """One consumer's place, as the last dequeue answered it."""

    cursor: list[int] | None = None


class Turns:
    """Lends a place to each dequeue that runs at the moment.

    A place has one user at a time, so that W calls at once are W consumers, each going its own round in order.
    A single place for all would jump back when a slow call ends after a quick one, and favour what lies there.
    """

    def __init__(self) -> None:
        self.idle: list[Turn] = []

    @contextmanager
    def turn(self) -> Iterator[Turn]:
        """Lend the place that was used last, or a new one if all are in use."""
        try:
            turn = self.idle.pop()
        except IndexError:
            turn = Turn()
        try:
            yield turn
        finally:
            self.idle.append(turn)


def patience() -> Iterator[float]:
    """The pauses, short and random, between tries while others are counting the only channels that could be served."""
    give_up_at = time.monotonic() + MOST_SECONDS
    for attempt in range(MOST_TRIES):
        yield random.uniform(0, min(LONGEST_PAUSE, 0.0005 * 2**attempt))  # noqa: S311 - spreads load, hides nothing
        if time.monotonic() >= give_up_at:
            return
