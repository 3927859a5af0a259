"""What a process under load and the one that measures tell each other: ready, go, how many, stop."""

from __future__ import annotations

import asyncio
import random
import time
from ctypes import c_int64
from multiprocessing import RawArray
from multiprocessing.connection import Connection
from typing import Any

from benchmarks.payload import Payload

MOST_MEMBERS = 64
NAP_SECONDS = 0.001


class SharedCounters:
    """Shared memory: a counter for each member and the word to stop. One writer a cell, so there are no locks."""

    def __init__(self) -> None:
        self.handled: Any = RawArray(c_int64, MOST_MEMBERS)
        self.stop: Any = RawArray(c_int64, 1)

    def clear(self) -> None:
        self.stop[0] = 0
        for slot in range(MOST_MEMBERS):
            self.handled[slot] = 0

    def total(self, slots: range) -> int:
        return sum(self.handled[slots.start : slots.stop])


class LoadControl:
    """One member's end: a system reports through it what it does, and asks it whether to go on."""

    def __init__(self, pipe: Connection, counters: SharedCounters, slot: int) -> None:
        self.pipe = pipe
        self.counters = counters
        self.slot = slot
        self.listening = False  # keep each message's wait
        self.work_seconds = 0.0  # how long a handler takes, give or take half of it
        self.waits: list[
            tuple[str, int]
        ] = []  # whose, and nanoseconds from before the create to here

    def ready(self) -> None:
        """Say that connections are open, and wait until everybody is so far."""
        self.pipe.send(("ready", None))
        self.pipe.recv()

    @property
    def stopped(self) -> bool:
        return bool(self.counters.stop[0])

    def handle(self, message: Payload, channel: str = "") -> None:
        """The handler: called once a message, when its work begins."""
        if self.listening:
            self.waits.append((channel, time.monotonic_ns() - message["at"]))
        if self.work_seconds:
            time.sleep(self.work_seconds * random.uniform(0.5, 1.5))

    async def handle_async(self, message: Payload, channel: str = "") -> None:
        """The same for a handler in an event loop, whose work lets others go on."""
        if self.listening:
            self.waits.append((channel, time.monotonic_ns() - message["at"]))
        if self.work_seconds:
            await asyncio.sleep(self.work_seconds * random.uniform(0.5, 1.5))

    def done(self, count: int = 1) -> None:
        """So many more messages are created, or handled and settled."""
        self.counters.handled[self.slot] += count

    def nap(self) -> None:
        """After an empty answer: a millisecond, for everybody who asks again by himself."""
        time.sleep(NAP_SECONDS)

    def others(self, slots: range) -> int:
        """How many messages the members at these places have done."""
        return self.counters.total(slots)
