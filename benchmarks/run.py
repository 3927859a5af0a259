"""A run: the server, the lanes, and the rounds in which contestants take turns so that noise meets them all."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from benchmarks.systems import contestant
from benchmarks.processes import Crew, Failed
from benchmarks.goals import rivals
from benchmarks.entrant import Lane, Reading
from benchmarks.record import Case, Record
from lonnymq.embedded_postgres import TemporaryServer


@dataclass
class Run:
    """What every shape is handed."""

    server: TemporaryServer
    peers: list[str]  # names of contestants that take part, ours among them
    repeat: int
    quick: bool
    seconds: float = 2.0  # how long a sample is
    held_seconds: int = 60  # how long the reader of the snapshot shape stays
    rows: int = 1_000_000  # how many rows the spark shape moves
    record: Record = field(default_factory=Record)
    crews: dict[str, Crew] = field(default_factory=dict)
    lanes: dict[tuple[str, int, str], Lane] = field(default_factory=dict)
    broken: dict[str, str] = field(default_factory=dict)  # contestants that do not even install
    started: float = field(default_factory=time.monotonic)

    @property
    def counts(self) -> tuple[int, ...]:
        """The numbers of channels to try."""
        return (1, 10_000) if self.quick else (1, 100, 10_000)

    def say(self, text: str) -> None:
        minutes, seconds = divmod(int(time.monotonic() - self.started), 60)
        print(f"{minutes:02}:{seconds:02}  {text}", flush=True)

    def among(self, names: Iterable[str]) -> list[str]:
        """Those of these that take part."""
        return [name for name in names if name in self.peers]

    def sits_out(self, number: int, shape: str, name: str) -> bool:
        """Whether a contestant is spared a round: who is not named by a goal of the shape is asked once."""
        return number > 0 and not name.startswith("lonnymq") and name not in rivals(shape)

    def lane(self, name: str, channels: int = 1, *, purpose: str = "", crew: str = "") -> Lane:
        """A contestant's database for so many channels, made when first asked for.

        Lanes that are to run at the same time name a crew each.
        """
        if (key := (name, channels, purpose)) not in self.lanes:
            if name in self.broken:
                raise Failed(self.broken[name])
            members = self.crews.setdefault(name + crew, Crew())
            lane = Lane(
                self.server.dsn,
                name,
                channels,
                members,
                f"bench_{len(self.lanes)}_{int(time.time())}",
            )
            try:
                lane.open()
            except Failed as failure:
                self.broken[name] = str(failure)
                raise
            self.lanes[key] = lane
        return self.lanes[key]

    def drop_lanes(self) -> None:
        """Free the disk after a shape."""
        for lane in self.lanes.values():
            lane.drop()
        self.lanes.clear()

    def sample(
        self, shape: str, case: Case, name: str, unit: str, take: Callable[[], Reading]
    ) -> None:
        """One sample of one contestant; a failure is written down, and it is not asked again in this case."""
        entry = self.record.entry(shape, case, name, unit)
        if entry.error:
            return
        try:
            reading = take()
        except Failed as failure:
            entry.error = str(failure)
            self.say(f"{shape} {describe(case)} · {name}: FAILED: {failure}")
            return
        entry.samples.append(round(reading.rate, 1))
        entry.details.append({"count": reading.count, "seconds": round(reading.seconds, 3)})
        self.say(f"{shape} {describe(case)} · {name}: {reading.rate:,.0f} {unit}")

    def close(self) -> None:
        for crew in self.crews.values():
            crew.close()


def describe(case: Case) -> str:
    return ", ".join(f"{key} {value}" for key, value in case.items())


def tenants(name: str, counts: Iterable[int]) -> list[int]:
    """The numbers of channels that make a difference to a contestant."""
    known = contestant(name)
    if not known.has_tenants:
        return [1]
    return [count for count in counts if not known.only_channels or count in known.only_channels]
