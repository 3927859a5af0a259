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
    def created_at(self) -> int: ...  # noqa: D102
    @property
    def dequeue_at(self) -> int: ...  # noqa: D102
    @property
    def dequeued_at(self) -> int: ...  # noqa: D102
    @property
    def finished_at(self) -> int: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class Recorded:
    """The workload of a stretch of history, and how it went."""

    work: Workload
    went: Replayed
    most_at_once: int


def recorded(rows: Iterable[Attempt]) -> Recorded:
    """Read attempts, in any order. A further attempt of a message follows the one before it."""
    attempts = sorted(rows, key=lambda row: (row.message_id, row.dequeued_at, row.finished_at))
    names = sorted({row.channel for row in attempts})
    number_of = {name: number for number, name in enumerate(names)}
    due = [row.dequeue_at for row in attempts]
    after = {}
    for at, (before, row) in enumerate(pairwise(attempts), 1):
        if before.message_id == row.message_id:
            due[at] = max(row.dequeue_at, before.finished_at)
            after[at] = (at - 1, due[at] - before.finished_at)
    work = Workload(
        names,
        [number_of[row.channel] for row in attempts],
        [max(row.created_at, due[at]) if at in after else row.created_at
         for at, row in enumerate(attempts)],
        due,
        [max(0, row.finished_at - row.dequeued_at) for row in attempts],
        after,
    )  # fmt: skip
    went = Replayed(list(due), [row.dequeued_at for row in attempts])
    return Recorded(work, went, most_at_once(attempts))


def most_at_once(attempts: Sequence[Attempt]) -> int:
    """How many were being worked on at the busiest moment."""
    steps = [(row.dequeued_at, 1) for row in attempts]
    steps += [(row.finished_at, -1) for row in attempts]
    running = most = 0
    for _, step in sorted(steps):  # at the same moment, one that ends makes room first
        running += step
        most = max(most, running)
    return most
