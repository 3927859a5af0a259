"""The servers that a source has lived on, as the table's log knows them: which is the present one, where each was left.

A database that moves to another server, by a failover, a backup, a dump or an upgrade, begins another life there. What
the lake has below the position at which it left a server is what that server has, too. Above it the lake has rows of
another server. Who comes back to a server goes back to that position.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deltalake import DeltaTable

NOT_LEFT = 2**63 - 1
Mark = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Life:
    """A source on one server: a number made from what the server is known by, and where the lake left it."""

    known_by: int
    left_at: int = NOT_LEFT


@dataclass(frozen=True, slots=True)
class Lives:
    """The lives of a source, oldest first. The present one was not left."""

    source: str
    found: tuple[Life, ...] = ()

    def was_left(self, known_by: int) -> bool:
        """Whether the lake had come to this server, and then gone on to another."""
        return self.left_at(known_by) < NOT_LEFT

    def left_at(self, known_by: int) -> int:
        """Up to where the lake has what this server has, as far as other servers are concerned."""
        return next((each.left_at for each in self.found if each.known_by == known_by), NOT_LEFT)

    def is_present(self, known_by: int) -> bool:
        """Whether the lake follows this server; a lake that has followed none yet does not know better."""
        return not self.found or Life(known_by) in self.found

    def moved_to(self, known_by: int, since: int) -> Lives:
        """The lives after the source went back to `since` and on from there on this server."""
        others = (
            Life(each.known_by, min(each.left_at, since))
            for each in self.found
            if each.known_by != known_by
        )
        return Lives(self.source, (*others, Life(known_by)))

    def marks(self) -> tuple[Mark, ...]:
        """What the table's log keeps of them."""
        kept: list[Mark] = [(f"lonnymq lives {self.source}", len(self.found))]
        for number, each in enumerate(self.found):
            kept.append((f"lonnymq life {self.source} {number}", each.known_by))
            kept.append((f"lonnymq left {self.source} {number}", each.left_at))
        return tuple(kept)


@dataclass(frozen=True, slots=True)
class Rewinds:
    """How often the lake went back in a source's history, and where to the last time: rows from there on changed."""

    count: int | None = None  # None: never
    since: int = NOT_LEFT

    def after(self, source: str, since: int) -> tuple[Mark, ...]:
        """What the table's log keeps when the lake goes back once more."""
        return (count_mark(source), (self.count or 0) + 1), (f"lonnymq rewound {source}", since)


def count_mark(source: str) -> str:
    """What the table's log counts the ways back by."""
    return f"lonnymq rewinds {source}"


def read_rewinds(table: DeltaTable, source: str) -> Rewinds:
    """The ways back that a table's log knows of."""
    count = table.transaction_version(count_mark(source))
    since = table.transaction_version(f"lonnymq rewound {source}")
    return Rewinds(count, NOT_LEFT if since is None else since)


def read_lives(table: DeltaTable, source: str) -> Lives:
    """The lives that a table's log knows of."""
    count = table.transaction_version(f"lonnymq lives {source}") or 0
    found = tuple(
        Life(
            table.transaction_version(f"lonnymq life {source} {number}") or 0,
            table.transaction_version(f"lonnymq left {source} {number}") or 0,
        )
        for number in range(count)
    )
    return Lives(source, found)
