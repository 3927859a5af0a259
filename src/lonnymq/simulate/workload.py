"""A workload from history: what came when and how long it took, and how long it waited in fact."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

from lonnymq.simulate.replay import Replayed, Workload


class Attempt(Protocol):
    """What is needed of a row of history; times are epoch milliseconds."""

    @property
    def message_id(self) -> int: ...  # noqa: D102
    @property
    def channel(self) -> str: ...  # noqa: D102
    @property
    def outcome(self) -> str: ...  # noqa: D102
    @property
    def created_at(self) -> int: ...  # noqa: D102
    @property
    def dequeue_at(self) -> int: ...  # noqa: D102
    @property
    def dequeued_at(self) -> int: ...  # noqa: D102
    @property
    def finished_at(self) -> int: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class Recorded:
    """The workload of a stretch of history, and how it went.

    `counted` are the numbers of those attempts that came within the stretch: the others take part in a replay, and
    are left out of its sums. None: all came within.
    """

    work: Workload
    went: Replayed
    most_at_once: int
    counted: Sequence[int] | None = None


def recorded(
    rows: Iterable[Attempt], *, begin: int | None = None, end: int | None = None
) -> Recorded:
    """Read attempts, in any order. A further attempt of a message follows the one before it.

    With `begin`, the rows are those that ended at that moment or later: what was being worked on then arrives when it
    was taken, and what was waiting arrives at that moment, where it stood in its line. With `end`, what came at that
    moment or later is not counted. When a dead message was redriven is not written down: it comes when it was taken.
    """
    attempts = sorted(rows, key=lambda row: (row.message_id, row.dequeued_at, row.finished_at))
    names = sorted({row.channel for row in attempts})
    number_of = {name: number for number, name in enumerate(names)}
    due = [row.dequeue_at for row in attempts]
    came = [row.created_at for row in attempts]
    after = {}
    for at, (before, row) in enumerate(pairwise(attempts), 1):
        if before.message_id != row.message_id:
            continue
        if before.outcome == "dead":
            due[at] = came[at] = row.dequeued_at
        else:
            due[at] = max(row.dequeue_at, before.finished_at)
            came[at] = max(row.created_at, due[at])
            after[at] = (at - 1, due[at] - before.finished_at)
    counted = within(due, came, begin, end)
    if begin is not None:
        for at, row in enumerate(attempts):
            if row.dequeued_at < begin:
                due[at] = came[at] = row.dequeued_at
            elif at not in after and max(due[at], came[at]) < begin:
                came[at] = begin
    service = [max(0, row.finished_at - row.dequeued_at) for row in attempts]
    work = Workload(names, [number_of[row.channel] for row in attempts], came, due, service, after)
    went = Replayed(list(due), [row.dequeued_at for row in attempts])
    in_time = [row for row in attempts if end is None or row.dequeued_at < end]
    return Recorded(work, went, most_at_once(in_time), counted)


def within(
    due: Sequence[int], came: Sequence[int], begin: int | None, end: int | None
) -> list[int] | None:
    """The numbers of attempts that could have been taken first at a moment from `begin` on and before `end`."""
    if begin is None and end is None:
        return None
    moments = map(max, due, came)
    return [
        number
        for number, moment in enumerate(moments)
        if (begin is None or moment >= begin) and (end is None or moment < end)
    ]


def most_at_once(attempts: Iterable[Attempt]) -> int:
    """How many were being worked on at the busiest moment."""
    steps = []
    for row in attempts:
        steps += [(row.dequeued_at, 1), (row.finished_at, -1)]
    running = most = 0
    for _, step in sorted(steps):  # at the same moment, one that ends makes room first
        running += step
        most = max(most, running)
    return most
