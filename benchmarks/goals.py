"""What the run must show: ratios between two entries of one run, or a figure by itself, each with its bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from benchmarks.figures import median, ratios
from benchmarks.record import Case, Entry, Record

COUNTS = (1, 100, 10_000)
OURS, OFF = "lonnymq", "lonnymq, history off"
ARCHIVE, DELETE = "pgmq, archive", "pgmq, delete"
BOOK = "channel table"
Sense = Literal["at least", "at most"]


@dataclass(frozen=True)
class Goal:
    """A bound on ours over theirs, or on ours alone."""

    shape: str
    text: str
    ours: tuple[str, Case]
    theirs: tuple[str, Case] | None
    sense: Sense
    bound: float
    unit: str = "×"

    def verdict(self, record: Record) -> dict[str, Any]:
        """The figure that the run found, and whether it is within the bound."""
        values = self.values(record)
        value = median(values) if values else None
        return {
            "shape": self.shape,
            "goal": f"{self.text} {self.sense} {self.bound:g}{self.unit}",
            "value": value,
            "least": min(values, default=None),
            "most": max(values, default=None),
            "unit": self.unit,
            "verdict": self.judge(value),
        }

    def values(self, record: Record) -> list[float]:
        ours = self.entry(record, self.ours)
        if self.theirs is None:
            return ours.samples if ours else []
        theirs = self.entry(record, self.theirs)
        return ratios(ours.samples, theirs.samples) if ours and theirs else []

    def entry(self, record: Record, where: tuple[str, Case]) -> Entry | None:
        contestant, case = where
        return record.find(self.shape, case, contestant)

    def contestants(self) -> set[str]:
        return {self.ours[0]} | ({self.theirs[0]} if self.theirs else set())

    def judge(self, value: float | None) -> str:
        if value is None:
            return "not measured"
        within = value >= self.bound if self.sense == "at least" else value <= self.bound
        return "ok" if within else "not reached"


def faster(
    shape: str, case: Case, peer: str, peer_case: Case, bound: float, *, ours: str = OURS
) -> Goal:
    told = ", ".join(
        f"{key} {value:,}" if isinstance(value, int) else f"{key} {value}"
        for key, value in case.items()
    )
    return Goal(
        shape,
        f"{shape}, {told}: {ours} ÷ {peer}",
        (ours, case),
        (peer, peer_case),
        "at least",
        bound,
    )


def speed_goals() -> list[Goal]:
    """Shapes (a), (b) and (c)."""
    goals = [
        faster("create", {"batch": 1}, ARCHIVE, {"batch": 1}, 1.3),
        faster("create", {"batch": 100}, ARCHIVE, {"batch": 100}, 1.2),
    ]
    for count in COUNTS:
        case, any_case = {"batch": 100, "channels": count}, {"batch": 100, "channels": "any"}
        goals += [
            faster("drain", case, ARCHIVE, any_case, 1.0),
            faster("drain", case, DELETE, any_case, 1.0, ours=OFF),
            faster("drain", case, "PgQueuer", any_case, 4),
            faster("drain", case, "Procrastinate", any_case, 50),
            faster("drain", case, BOOK, case, 10),
        ]
    for shape in ("drain", "steady"):
        batch: Case = {"batch": 1} if shape == "drain" else {}
        for count in COUNTS:
            case, any_case = {**batch, "channels": count}, {**batch, "channels": "any"}
            goals += [
                faster(shape, case, ARCHIVE, any_case, 1.2),
                faster(shape, case, DELETE, any_case, 1.2, ours=OFF),
            ]
        one = {**batch, "channels": 1}
        goals.append(faster(shape, one, BOOK, one, 8))
    return goals


GOALS = speed_goals()


def verdicts(record: Record, shapes: list[str]) -> list[dict[str, Any]]:
    """The verdict on every goal of the shapes and contestants that were run."""
    present = {entry.contestant for entry in record.entries}
    asked = [goal for goal in GOALS if goal.shape in shapes and goal.contestants() <= present]
    return [goal.verdict(record) for goal in asked]
