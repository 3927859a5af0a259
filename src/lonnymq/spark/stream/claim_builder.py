"""Builds claims: several calls fill a claim, in the background while Spark is busy."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from lonnymq.spark.stream.claims import Taken

MOST_AT_ONCE = 10_000
Cursor = list[int] | None
Take = Callable[[int, Cursor], Taken]  # up to so many messages, from here on


class Filling:
    """Two lanes, each with its own place in the queue's ring."""

    def __init__(self) -> None:
        self.cursors: list[Cursor] = [None, None]
        self.second = ThreadPoolExecutor(1, thread_name_prefix="claims, second lane")

    def begin(self, take: Take, most: int | None) -> Taken:
        """The first part of a claim of up to so many messages."""
        return self.step(0, take, MOST_AT_ONCE if most is None else min(MOST_AT_ONCE, most))

    def go_on(self, take: Take, most: int | None) -> int:
        """Add what else it may have, until there is no more; how many messages that is."""
        left = Left(most)
        other = self.second.submit(self.lane, 1, take, left)
        try:
            made = self.lane(0, take, left)
        finally:
            left.is_stopped = True
        made += other.result()
        left.is_stopped = False
        return made + self.lane(
            0, take, left
        )  # what one lane could not have while the other had it

    def lane(self, number: int, take: Take, left: Left) -> int:
        """Add part after part, up to one that is not full."""
        made = 0
        while limit := left.draw():
            taken = self.step(number, take, limit)
            made += taken.messages
            left.give_back(limit - taken.messages)
            if taken.messages < limit:
                break
        return made

    def step(self, number: int, take: Take, limit: int) -> Taken:
        """Add one part."""
        taken = take(limit, self.cursors[number])
        self.cursors[number] = taken.cursor
        return taken

    def stop(self) -> None:
        """Begin nothing more."""
        self.second.shutdown(wait=False, cancel_futures=True)


class Left:
    """How many messages a claim may still have; None: as many as there are."""

    def __init__(self, most: int | None) -> None:
        self.most, self.lock = most, threading.Lock()
        self.is_stopped = False

    def draw(self) -> int:
        """Take some of it for a call; 0: nothing is left."""
        with self.lock:
            if self.is_stopped:
                return 0
            if self.most is None:
                return MOST_AT_ONCE
            drawn = min(MOST_AT_ONCE, self.most)
            self.most -= drawn
            return drawn

    def give_back(self, unused: int) -> None:
        """Put back what a call did not need."""
        with self.lock:
            if self.most is not None:
                self.most += unused


class Aside:
    """Two threads, one for each of the two; what goes wrong in them is raised by `join`."""

    def __init__(self) -> None:
        self.threads = ThreadPoolExecutor(2, thread_name_prefix="claims aside")
        self.settling: Future[None] | None = None
        self.making: Future[int] | None = None

    def settle(self, work: Callable[[], None]) -> None:
        """Begin to settle."""
        self.settling = self.threads.submit(work)

    def make(self, work: Callable[[], int]) -> None:
        """Begin to make a claim."""
        self.making = self.threads.submit(work)

    def join(self) -> int:
        """Wait for what was begun; how many messages are in the claim that was made."""
        settling, making = self.settling, self.making
        self.settling = self.making = None
        if settling is not None:
            settling.result()
        return making.result() if making is not None else 0

    def stop(self) -> None:
        """Begin nothing more, and wait for nothing."""
        self.threads.shutdown(wait=False, cancel_futures=True)
