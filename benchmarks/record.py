"""What a run found: every sample of every case, and the reason where there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from benchmarks.summary_statistics import median, spread

Case = Mapping[str, Any]


@dataclass
class Entry:
    """One contestant in one case of one shape."""

    shape: str
    case: Case
    contestant: str
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

    def entry(self, shape: str, case: Case, contestant: str, unit: str) -> Entry:
        if (found := self.find(shape, case, contestant)) is not None:
            return found
        self.entries.append(Entry(shape, dict(case), contestant, unit))
        return self.entries[-1]

    def find(self, shape: str, case: Case, contestant: str) -> Entry | None:
        wanted = (shape, case, contestant)
        same = (each for each in self.entries if (each.shape, each.case, each.contestant) == wanted)
        return next(same, None)

    def of(self, shape: str) -> list[Entry]:
        return [entry for entry in self.entries if entry.shape == shape]
