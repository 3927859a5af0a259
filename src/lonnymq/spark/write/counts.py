"""What became of the rows of a load, counted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class Counts:
    """Rows that became messages, had a name that was taken, or were not made messages and why."""

    created: int = 0
    duplicate: int = 0
    dropped: int = 0
    refused: int = 0
    invalid: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            *(getattr(self, each.name) + getattr(other, each.name) for each in fields(self))
        )

    @property
    def rejected(self) -> int:
        """Rows that the queue did not take."""
        return self.dropped + self.refused + self.invalid

    def __str__(self) -> str:
        return ", ".join(f"{getattr(self, each.name)} {each.name}" for each in fields(self))


def counted(answers: Iterable[str]) -> Counts:
    """Answers, counted."""
    found = list(answers)
    return Counts(*(found.count(each.name) for each in fields(Counts)))
