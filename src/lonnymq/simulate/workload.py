"""Workloads: arrivals and service times as columns, built from history and scaled."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from lonnymq.errors import InvalidArgument
from lonnymq.results import HistoryRow

MAX_GROWTH = 1000


@dataclass(frozen=True, slots=True)
class Workload:
    """Attempts in the order of their creation, as columns; times in milliseconds.

    `channel` counts into `names`. `after` is for an attempt that follows another one: the number of that one, and
    how long after its end this one was due; it arrives when the other has ended, wherever it stands here.
    """

    names: Sequence[str]
    channel: Sequence[int]
    created_at: Sequence[int]
    due_at: Sequence[int]
    service_ms: Sequence[int]
    after: Mapping[int, tuple[int, int]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.channel)


@dataclass(frozen=True, slots=True)
class ReplayTimes:
    """When each attempt was due and when it started; -1 if never."""

    due_at: list[int]
    started_at: list[int]


class AttemptRow(NamedTuple):
    """The columns of history that a workload needs; times are epoch milliseconds."""

    message_id: int
    channel: str
    outcome: str
    created_at: int
    dequeue_at: int
    dequeued_at: int
    finished_at: int
    worker: str | None = None


Attempt = AttemptRow | HistoryRow


@dataclass(frozen=True, slots=True)
class RecordedWorkload:
    """The workload of a period of history, and its recorded times.

    `counted` are the numbers of those attempts that count: the others take part in a replay, and are
    left out of its result. None: all count. `processes` is how many workers with a name were there at the same time.
    """

    work: Workload
    times: ReplayTimes
    max_concurrent: int
    counted: Sequence[int] | None = None
    processes: int | None = None


def build_workload(
    rows: Iterable[Attempt], *, begin: int | None = None, end: int | None = None
) -> RecordedWorkload:
    """Read attempts, in any order. A further attempt of a message follows the one before it.

    With `begin`, the rows are those that ended at that moment or later: what was being worked on then arrives when it
    was taken, and what was waiting arrives at that moment, where it stood in its line. With `end`, what came at that
    moment or later is not counted. When a dead message was redriven is not written down: it comes when it was taken.
    """
    # A message that was cancelled or expired while it waited took no time of a worker.
    worked = (
        row
        for row in rows
        if row.outcome not in ("cancelled", "lapsed") or row.finished_at > row.dequeued_at
    )
    attempts = sorted(worked, key=lambda row: (row.message_id, row.dequeued_at, row.finished_at))
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
    counted = find_counted(due, came, begin, end)
    if begin is not None:
        for at, row in enumerate(attempts):
            if row.dequeued_at < begin:
                due[at] = came[at] = row.dequeued_at
            elif at not in after and max(due[at], came[at]) < begin:
                came[at] = begin
    service = [max(0, row.finished_at - row.dequeued_at) for row in attempts]
    work = Workload(names, [number_of[row.channel] for row in attempts], came, due, service, after)
    went = ReplayTimes(list(due), [row.dequeued_at for row in attempts])
    in_time = [row for row in attempts if end is None or row.dequeued_at < end]
    return RecordedWorkload(work, went, max_concurrent(in_time), counted, count_processes(in_time))


def find_counted(
    due: Sequence[int], came: Sequence[int], begin: int | None, end: int | None
) -> list[int] | None:
    """The numbers of attempts that became ready from `begin` on and before `end`."""
    if begin is None and end is None:
        return None
    moments = map(max, due, came)
    return [
        number
        for number, moment in enumerate(moments)
        if (begin is None or moment >= begin) and (end is None or moment < end)
    ]


def max_concurrent(attempts: Iterable[Attempt]) -> int:
    """The maximum number of attempts that ran at the same time."""
    return max_overlap((row.dequeued_at, row.finished_at) for row in attempts)


def count_processes(attempts: Iterable[Attempt]) -> int | None:
    """The maximum number of workers that were there at the same time; None if the workers have no names."""
    lives: dict[str, tuple[int, int]] = {}
    for row in attempts:
        if row.worker is not None:
            begin, end = lives.get(row.worker, (row.dequeued_at, row.finished_at))
            lives[row.worker] = (min(begin, row.dequeued_at), max(end, row.finished_at))
    return max_overlap(lives.values()) or None


def max_overlap(spans: Iterable[tuple[int, int]]) -> int:
    """The maximum number of spans that overlap."""
    steps = []
    for begin, end in spans:
        steps += [(begin, 1), (end, -1)]
    running = most = 0
    for _, step in sorted(steps):  # at the same moment, one that ends makes room first
        running += step
        most = max(most, running)
    return most


def scale_workload(
    work: Workload, by: float, *, seed: int = 1, counted: Sequence[int] | None = None
) -> tuple[Workload, list[int] | None]:
    """Multiply the messages of a workload; returns the workload and the attempts that count, by seed.

    By 1.5, every message comes once and half of them come twice; by 0.8, a fifth is left out. The second of two comes
    somewhere between the first and the next message of its tenant: rushes stay rushes, and quiet hours quiet.
    A message brings its further attempts along.
    """
    if not 0 < by <= MAX_GROWTH:
        raise InvalidArgument(f"growth must be more than 0 and at most {MAX_GROWTH}, not {by}")
    if by == 1:
        return work, None if counted is None else list(counted)
    rng = random.Random(seed)  # noqa: S311 - the same again is what is wanted
    followers: dict[int, list[int]] = {}
    for number, (before, _) in work.after.items():
        followers.setdefault(before, []).append(number)
    room = arrival_gaps(work)
    old: list[int] = []  # which attempt each of the new ones is a copy of
    later: list[int] = []  # how much later it comes
    after: dict[int, tuple[int, int]] = {}
    for number in range(len(work)):
        if number in work.after:
            continue
        for copy in range(int(by) + (rng.random() < by % 1)):
            shift = int(rng.random() * room[number]) if copy else 0
            chain = [(number, -1)]
            while chain:
                at, first = chain.pop()
                if first >= 0:
                    after[len(old)] = (first, work.after[at][1])
                chain += [(each, len(old)) for each in followers.get(at, ())]
                old.append(at)
                later.append(shift)
    count = None if counted is None else set(counted)
    return Workload(
        work.names,
        [work.channel[at] for at in old],
        [work.created_at[at] + shift for at, shift in zip(old, later, strict=True)],
        # A rank of the past, which says how urgent a message is, stays what it is.
        [work.due_at[at] + (shift if work.due_at[at] >= work.created_at[at] else 0)
         for at, shift in zip(old, later, strict=True)],
        [work.service_ms[at] for at in old],
        after,
    ), None if count is None else [number for number, at in enumerate(old) if at in count]  # fmt: skip


def arrival_gaps(work: Workload) -> list[int]:
    """The time from each message to the tenant's next; the last message repeats the gap before it."""
    found = [0] * len(work)
    last: dict[int, int] = {}
    arrivals = [number for number in range(len(work)) if number not in work.after]
    for number in sorted(arrivals, key=work.created_at.__getitem__):
        before = last.get(work.channel[number])
        if before is not None:
            found[before] = work.created_at[number] - work.created_at[before]
            found[number] = found[before]
        last[work.channel[number]] = number
    return found
