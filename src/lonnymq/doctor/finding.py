"""What the doctor answers: findings, each with its explanation and the command that helps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Level = Literal["note", "warning", "broken"]


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that was found; a note is worth knowing, a warning will hurt, broken does already.

    `remedy` is the command that helps, for a shell or, where it ends with a semicolon, for psql.
    """

    check: str
    level: Level
    said: str
    remedy: str | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """One examination: which checks were made, and what they found."""

    checked: tuple[str, ...]
    findings: tuple[Finding, ...]

    @property
    def healthy(self) -> bool:
        """Whether there is nothing but notes."""
        return all(each.level == "note" for each in self.findings)
