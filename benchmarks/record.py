"""What a run found: every sample of every case, and the reason where there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from benchmarks.summary_statistics import median, spread

Case = Mapping[str, Any]


@dataclass
class Entry:
    """One system in one case of one scenario."""

    scenario: str
    case: Case
    system: str
    unit: str
    samples: list[float] = field(default_factory=list)
    details: list[dict[str, Any]] = field(default_factory=list)
    error: str | None = None

    @property
    def median(self) -> float | None:
        return median(self.samples) if self.samples else None

    @property
    def spread(self) -> float:
        return spread(self.samples) if self.samples else 0.0

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "median": self.median, "spread": round(self.spread, 4)}


class Record:
    """All entries, in the order in which they came up."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []

    def entry(self, scenario: str, case: Case, system: str, unit: str) -> Entry:
        if (found := self.find(scenario, case, system)) is not None:
            return found
        self.entries.append(Entry(scenario, dict(case), system, unit))
        return self.entries[-1]

    def find(self, scenario: str, case: Case, system: str) -> Entry | None:
        wanted = (scenario, case, system)
        same = (each for each in self.entries if (each.scenario, each.case, each.system) == wanted)
        return next(same, None)

    def of(self, scenario: str) -> list[Entry]:
        return [entry for entry in self.entries if entry.scenario == scenario]
