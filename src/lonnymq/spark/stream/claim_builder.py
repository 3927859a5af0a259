"""Builds claims: several calls fill a claim with messages, in the background while Spark is busy.

A call keeps one core of the server busy. The first call of a claim runs alone, the further calls two at a time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from lonnymq.client.calls.spark import ClaimTaken

MESSAGES_PER_CALL = 10_000
Cursor = list[int] | None
Take = Callable[[int, Cursor], ClaimTaken]  # takes up to so many messages, from a cursor on


class ClaimBuilder:
    """Fills claims in two threads, each with its own cursor in the queue."""

    def __init__(self) -> None:
        self.cursors: list[Cursor] = [None, None]
        self.second = ThreadPoolExecutor(1, thread_name_prefix="claims, second thread")

    def start_claim(self, take: Take, limit: int | None) -> ClaimTaken:
        """Take the first messages of a claim."""
        first = MESSAGES_PER_CALL if limit is None else min(MESSAGES_PER_CALL, limit)
        return self.take_once(0, take, first)

    def fill_claim(self, take: Take, limit: int | None) -> int:
        """Add messages until the limit is reached or the queue has no more; returns how many."""
        remaining = Remaining(limit)
        other = self.second.submit(self.take_all, 1, take, remaining)
        try:
            added = self.take_all(0, take, remaining)
        finally:
            remaining.is_stopped = True
        added += other.result()
        remaining.is_stopped = False
        # Again, for messages that a thread missed because the other thread had them locked.
        return added + self.take_all(0, take, remaining)

    def take_all(self, thread: int, take: Take, remaining: Remaining) -> int:
        """Call after call, until a call takes less than it may."""
        added = 0
        while limit := remaining.draw():
            taken = self.take_once(thread, take, limit)
            added += taken.messages
            remaining.give_back(limit - taken.messages)
            if taken.messages < limit:
                break
        return added

    def take_once(self, thread: int, take: Take, limit: int) -> ClaimTaken:
        """Make one call."""
        taken = take(limit, self.cursors[thread])
        self.cursors[thread] = taken.cursor
        return taken

    def stop(self) -> None:
        """Start no further call."""
        self.second.shutdown(wait=False, cancel_futures=True)


class Remaining:
    """How many messages a claim may still take; None: no limit. Both threads draw from it."""

    def __init__(self, limit: int | None) -> None:
        self.limit, self.lock = limit, threading.Lock()
        self.is_stopped = False

    def draw(self) -> int:
        """Reserve messages for a call; 0: the limit is reached."""
        with self.lock:
            if self.is_stopped:
                return 0
            if self.limit is None:
                return MESSAGES_PER_CALL
            drawn = min(MESSAGES_PER_CALL, self.limit)
            self.limit -= drawn
            return drawn

    def give_back(self, unused: int) -> None:
        """Return the part of a reservation that a call did not use."""
        with self.lock:
            if self.limit is not None:
                self.limit += unused


class BackgroundWork:
    """Two threads: one acknowledges a claim, one builds the next. `join` raises their errors."""

    def __init__(self) -> None:
        self.threads = ThreadPoolExecutor(2, thread_name_prefix="claims in background")
        self.acknowledging: Future[None] | None = None
        self.building: Future[int] | None = None

    def acknowledge(self, work: Callable[[], None]) -> None:
        """Start to acknowledge a claim."""
        self.acknowledging = self.threads.submit(work)

    def build(self, work: Callable[[], int]) -> None:
        """Start to build a claim."""
        self.building = self.threads.submit(work)

    def join(self) -> int:
        """Wait for both; returns the number of messages in the claim that was built."""
        acknowledging, building = self.acknowledging, self.building
        self.acknowledging = self.building = None
        if acknowledging is not None:
            acknowledging.result()
        return building.result() if building is not None else 0

    def stop(self) -> None:
        """Start nothing more, and wait for nothing."""
        self.threads.shutdown(wait=False, cancel_futures=True)
