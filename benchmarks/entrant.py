"""A contestant in a database of its own, with its crew: what a shape asks for a sample."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from benchmarks import tasks
from benchmarks.systems import contestant
from benchmarks.systems.base import Contestant
from benchmarks.processes import Crew, Failed, Task
from benchmarks.server import create_database, drop_database, tidy

START_SECONDS = 20.0  # for the first message to come through
WARM_SECONDS = 0.4  # before the clock starts
LOOK_SECONDS = 0.002
SLOW_SECONDS = 20.0  # at most, until something is counted


@dataclass
class Reading:
    """What was counted in a window of time."""

    count: int
    seconds: float
    answers: list[Any] = field(default_factory=list)

    @property
    def rate(self) -> float:
        return self.count / self.seconds


@dataclass
class Lane:
    """One contestant over so many channels."""

    server_dsn: str
    name: str
    channels: int
    crew: Crew
    database: str
    dsn: str = ""
    waiting: int = 0

    @property
    def contestant(self) -> Contestant:
        return contestant(self.name)

    def open(self) -> None:
        """Make the database and install the contestant in it."""
        self.dsn = create_database(self.server_dsn, self.database)
        self.crew.call(tasks.install, self.name, self.dsn)

    def drop(self) -> None:
        drop_database(self.server_dsn, self.database)

    def fill(self, upto: int, *, tidied: bool = True) -> None:
        """Load what is missing to that many waiting messages, and tidy up."""
        missing = upto - self.waiting
        if missing > 0:
            self.crew.call(tasks.load, self.name, self.dsn, missing, self.channels, patience=300)
            self.waiting += missing
        if tidied:
            tidy(self.dsn)

    def drain(self, batch: int, seconds: float, *, work_seconds: float = 0.0) -> Reading:
        """Consumers alone, from a backlog that does not end."""
        members = self.contestant.consumers(batch)
        work: list[Task] = [(tasks.consume, (self.name, self.dsn, batch, work_seconds))] * members
        reading = self.measure(work, range(members), seconds)
        self.waiting -= self.crew.board.total(range(members))
        if self.waiting <= 0:
            raise Failed("the backlog ran dry before the clock stopped")
        return reading

    def create(self, batch: int, producers: int, seconds: float) -> Reading:
        """Producers alone."""
        work: list[Task] = [
            (tasks.produce, (self.name, self.dsn, batch, self.channels))
        ] * producers
        return self.measure(work, range(producers), seconds)

    def bulk(self, batch: int) -> Reading:
        """One producer, large calls for a second, by COPY where the contestant offers it."""
        self.crew.start([(tasks.produce_bulk, (self.name, self.dsn, batch, self.channels))])
        [(count, seconds)] = self.crew.finish(1, patience=120)
        return Reading(count, seconds)

    def steady(self, producers: int, consumers: int, seconds: float) -> Reading:
        """Producers and consumers in step, one message a call; what is counted is consumed."""
        us, them = range(producers), range(producers, producers + consumers)
        making = (tasks.produce_in_step, (self.name, self.dsn, 1, self.channels, us, them))
        taking = (tasks.consume, (self.name, self.dsn, 1))
        return self.measure([making] * producers + [taking] * consumers, them, seconds)

    def measure(self, work: list[Task], counted: range, seconds: float) -> Reading:
        """Start everybody, wait for the first message and a little more, count for so long, stop everybody."""
        board, members = self.crew.board, len(work)
        self.crew.start(work)
        deadline = time.monotonic() + START_SECONDS
        while not board.total(counted):
            self.crew.check(members)
            if time.monotonic() > deadline:
                self.crew.close()
                raise Failed(f"nothing came through in {START_SECONDS:.0f} s")
            time.sleep(LOOK_SECONDS)
        time.sleep(WARM_SECONDS)
        before, start = board.total(counted), time.monotonic()
        time.sleep(seconds)
        while board.total(counted) == before and time.monotonic() < start + SLOW_SECONDS:
            time.sleep(LOOK_SECONDS)  # for who takes longer than a sample for one call
        count, end = board.total(counted) - before, time.monotonic()
        return Reading(count, end - start, self.crew.finish(members))
