"""A system in a database of its own, with its processes: a scenario asks an entrant for a sample."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from benchmarks import tasks
from benchmarks.processes import ProcessGroup, SystemFailed, Task
from benchmarks.server import create_database, drop_database, vacuum_database
from benchmarks.systems import get_system
from benchmarks.systems.base import System

START_SECONDS = 20.0  # for the first message to come through
WARM_SECONDS = 0.4  # before the clock starts
LOOK_SECONDS = 0.002
SLOW_SECONDS = 20.0  # at most, until something is counted


@dataclass
class Measurement:
    """What was counted in a window of time."""

    count: int
    seconds: float
    answers: list[Any] = field(default_factory=list)

    @property
    def rate(self) -> float:
        return self.count / self.seconds


def time_call(count: int, do: Callable[[], object]) -> Measurement:
    """Run a function once and time it."""
    started = time.perf_counter()
    do()
    return Measurement(count, time.perf_counter() - started)


@dataclass
class Entrant:
    """One system over so many channels."""

    server_dsn: str
    name: str
    channels: int
    group: ProcessGroup
    database: str
    dsn: str = ""
    waiting: int = 0

    @property
    def system(self) -> System:
        return get_system(self.name)

    def open(self) -> None:
        """Make the database and install the system in it."""
        self.dsn = create_database(self.server_dsn, self.database)
        self.group.call(tasks.install, self.name, self.dsn)

    def drop(self) -> None:
        drop_database(self.server_dsn, self.database)

    def fill(self, upto: int, *, vacuumed: bool = True) -> None:
        """Load what is missing to that many waiting messages, and tidy up."""
        missing = upto - self.waiting
        if missing > 0:
            self.group.call(tasks.load, self.name, self.dsn, missing, self.channels, timeout=300)
            self.waiting += missing
        if vacuumed:
            vacuum_database(self.dsn)

    def drain(self, batch: int, seconds: float, *, work_seconds: float = 0.0) -> Measurement:
        """Consumers alone, from a backlog that does not end."""
        members = self.system.consumers(batch)
        work: list[Task] = [(tasks.consume, (self.name, self.dsn, batch, work_seconds))] * members
        measured = self.measure(work, range(members), seconds)
        self.waiting -= self.group.counters.total(range(members))
        if self.waiting <= 0:
            raise SystemFailed("the backlog ran dry before the clock stopped")
        return measured

    def create(self, batch: int, producers: int, seconds: float) -> Measurement:
        """Producers alone."""
        work: list[Task] = [
            (tasks.produce, (self.name, self.dsn, batch, self.channels))
        ] * producers
        return self.measure(work, range(producers), seconds)

    def create_bulk(self, batch: int) -> Measurement:
        """One producer, large calls for a second, by COPY where the system offers it."""
        self.group.start([(tasks.produce_bulk, (self.name, self.dsn, batch, self.channels))])
        [(count, seconds)] = self.group.finish(1, timeout=120)
        return Measurement(count, seconds)

    def run_steady(self, producers: int, consumers: int, seconds: float) -> Measurement:
        """Producers and consumers in step, one message a call; what is counted is consumed."""
        us, them = range(producers), range(producers, producers + consumers)
        making = (tasks.produce_in_step, (self.name, self.dsn, 1, self.channels, us, them))
        taking = (tasks.consume, (self.name, self.dsn, 1))
        return self.measure([making] * producers + [taking] * consumers, them, seconds)

    def measure(self, work: list[Task], counted: range, seconds: float) -> Measurement:
        """Start everybody, wait for the first message and a little more, count for so long, stop everybody."""
        counters, members = self.group.counters, len(work)
        self.group.start(work)
        deadline = time.monotonic() + START_SECONDS
        while not counters.total(counted):
            self.group.check(members)
            if time.monotonic() > deadline:
                self.group.close()
                raise SystemFailed(f"nothing came through in {START_SECONDS:.0f} s")
            time.sleep(LOOK_SECONDS)
        time.sleep(WARM_SECONDS)
        before, start = counters.total(counted), time.monotonic()
        time.sleep(seconds)
        while counters.total(counted) == before and time.monotonic() < start + SLOW_SECONDS:
            time.sleep(LOOK_SECONDS)  # for who takes longer than a sample for one call
        count, end = counters.total(counted) - before, time.monotonic()
        return Measurement(count, end - start, self.group.finish(members))
