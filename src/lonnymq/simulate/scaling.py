"""More or fewer messages than came in fact: some are sent again a little later, or some are left out."""

from __future__ import annotations

import random
from collections.abc import Sequence

from lonnymq.errors import InvalidArgument
from lonnymq.simulate.replay import Workload

MOST = 1000


def grown(
    work: Workload, by: float, *, seed: int = 1, counted: Sequence[int] | None = None
) -> tuple[Workload, list[int] | None]:
    """The workload with so many times the messages, and which of its attempts count; the same from the same seed.

    By 1.5, every message comes once and half of them come twice; by 0.8, a fifth is left out. The second of two comes
    somewhere between the first and the next message of its tenant: rushes stay rushes, and quiet hours quiet.
    A message brings its further attempts along.
    """
    if not 0 < by <= MOST:
        raise InvalidArgument(f"growth must be more than 0 and at most {MOST}, not {by}")
    if by == 1:
        return work, None if counted is None else list(counted)
    rng = random.Random(seed)  # noqa: S311 - the same again is what is wanted
    followers: dict[int, list[int]] = {}
    for number, (before, _) in work.after.items():
        followers.setdefault(before, []).append(number)
    room = gaps(work)
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


def gaps(work: Workload) -> list[int]:
    """How long after each message the next of its tenant comes; after the last one, as long as before it."""
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
