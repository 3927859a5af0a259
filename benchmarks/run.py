"""A run: the server, the entrants, and the rounds in which systems take turns so that noise meets them all."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from benchmarks.entrant import Entrant, Measurement
from benchmarks.goals import named_in_goals
from benchmarks.processes import ProcessGroup, SystemFailed
from benchmarks.record import Case, Record
from benchmarks.systems import get_system
from lonnymq.embedded_postgres import TemporaryServer


@dataclass
class Run:
    """What every scenario is handed."""

    server: TemporaryServer
    peers: list[str]  # names of systems that take part, ours among them
    repeat: int
    quick: bool
    seconds: float = 2.0  # how long a sample is
    held_seconds: int = 60  # how long the reader of the snapshot scenario stays
    rows: int = 1_000_000  # how many rows the spark scenario moves
    record: Record = field(default_factory=Record)
    groups: dict[str, ProcessGroup] = field(default_factory=dict)
    entrants: dict[tuple[str, int, str], Entrant] = field(default_factory=dict)
    broken: dict[str, str] = field(default_factory=dict)  # systems that do not even install
    started: float = field(default_factory=time.monotonic)

    @property
    def counts(self) -> tuple[int, ...]:
        """The numbers of channels to try."""
        return (1, 10_000) if self.quick else (1, 100, 10_000)

    def log(self, text: str) -> None:
        minutes, seconds = divmod(int(time.monotonic() - self.started), 60)
        print(f"{minutes:02}:{seconds:02}  {text}", flush=True)

    def select_systems(self, names: Iterable[str]) -> list[str]:
        """Those of these that take part."""
        return [name for name in names if name in self.peers]

    def skips_round(self, number: int, scenario: str, name: str) -> bool:
        """Whether a system is spared a round: who is not named by a goal of the scenario is asked once."""
        return (
            number > 0 and not name.startswith("lonnymq") and name not in named_in_goals(scenario)
        )

    def get_entrant(
        self, name: str, channels: int = 1, *, purpose: str = "", group: str = ""
    ) -> Entrant:
        """A system's database for so many channels, made when first asked for.

        Entrants that are to run at the same time name a group each.
        """
        if (key := (name, channels, purpose)) not in self.entrants:
            if name in self.broken:
                raise SystemFailed(self.broken[name])
            members = self.groups.setdefault(name + group, ProcessGroup())
            entrant = Entrant(
                self.server.dsn,
                name,
                channels,
                members,
                f"bench_{len(self.entrants)}_{int(time.time())}",
            )
            try:
                entrant.open()
            except SystemFailed as failure:
                self.broken[name] = str(failure)
                raise
            self.entrants[key] = entrant
        return self.entrants[key]

    def drop_entrants(self) -> None:
        """Free the disk after a scenario."""
        for entrant in self.entrants.values():
            entrant.drop()
        self.entrants.clear()

    def sample(
        self, scenario: str, case: Case, name: str, unit: str, take: Callable[[], Measurement]
    ) -> None:
        """One sample of one system; a failure is written down, and it is not asked again in this case."""
        entry = self.record.entry(scenario, case, name, unit)
        if entry.error:
            return
        try:
            measured = take()
        except SystemFailed as failure:
            entry.error = str(failure)
            self.log(f"{scenario} {describe_case(case)} · {name}: FAILED: {failure}")
            return
        entry.samples.append(round(measured.rate, 1))
        entry.details.append({"count": measured.count, "seconds": round(measured.seconds, 3)})
        self.log(f"{scenario} {describe_case(case)} · {name}: {measured.rate:,.0f} {unit}")

    def close(self) -> None:
        for group in self.groups.values():
            group.close()


def describe_case(case: Case) -> str:
    return ", ".join(f"{key} {value}" for key, value in case.items())


def channel_counts(name: str, counts: Iterable[int]) -> list[int]:
    """The numbers of channels that make a difference to a system."""
    known = get_system(name)
    if not known.has_tenants:
        return [1]
    return [count for count in counts if not known.only_channels or count in known.only_channels]
