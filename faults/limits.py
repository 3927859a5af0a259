"""Limits judged exactly: every interval and every pair of leases, against the limits that were in force."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from faults.observations import Change, Observations

QUEUE = "(queue)"  # the changes of the limit of all channels together are kept under this name
ANSWER_LOST_MS = (
    40_000  # a dequeue whose answer nobody heard began at most so long before its leases
)


@dataclass(frozen=True, slots=True)
class Lease:
    """A lease of a channel: when its dequeue began and was answered, the lease's own beginning and end.

    The database dates a lease before it commits. A limit that was set in between may be in force for the dequeue, so
    the limits that count are those from the beginning of the call to the moment when its answer was heard.
    """

    begun: float
    heard: float
    at: int
    end: float
    id: int


def group_leases(observed: Observations) -> dict[str, list[Lease]]:
    """All leases that the database knows of, by channel, in the order of their beginning."""
    calls = {
        (each.id, each.at): (each.begun, each.heard)
        for one in observed.deliveries.values()
        for each in one
    }

    def lease(id_: int, at: int, end: float) -> Lease:
        unheard = (at - ANSWER_LOST_MS, min(end, at + ANSWER_LOST_MS))
        return Lease(*calls.get((id_, at), unheard), at, end, id_)

    held: dict[str, list[Lease]] = defaultdict(list)
    for id_, attempts in observed.attempts.items():
        for each in attempts:
            held[each.channel].append(lease(id_, each.at, each.finished))
    for id_, stored in observed.stored.items():
        if stored.at is not None:
            held[stored.channel].append(lease(id_, stored.at, float("inf")))
    if QUEUE in observed.changes:
        held[QUEUE] = [each for one in held.values() for each in one]
    return {channel: sorted(one, key=lambda each: each.at) for channel, one in held.items()}


def list_values_in_force(
    changes: Sequence[Change], option: str, begin: float, end: float
) -> list[Any]:
    """The values that an option may have had at some moment from `begin` to `end`; None is no limit."""
    values: list[Any] = []
    before: Any = None
    for change in changes:
        if option not in change.options:
            continue
        if change.begin > end:
            break
        if change.end >= begin:
            values.append(before)
        before = change.options[option]
    return [*values, before]


def find_over_concurrency(observed: Observations) -> Iterator[tuple[str, int]]:
    """Leases that began while their channel had as many as it may have, by a sweep over all intervals."""
    for channel, leases in group_leases(observed).items():
        changes = observed.changes.get(channel, [])
        if not any("max_concurrency" in each.options for each in changes):
            continue
        events = sorted(
            [(each.at, 1, each) for each in leases] + [(each.end, 0, each) for each in leases],
            key=lambda event: event[:2],
        )
        running = 0
        for at, is_begin, lease in events:  # at equal times an end comes before a beginning
            running += 1 if is_begin else -1
            if not is_begin:
                continue
            limits = list_values_in_force(changes, "max_concurrency", lease.begun, lease.heard)
            if None not in limits and running > max(limits):
                yield f"{running} at once in {channel} at {at:.0f}, allowed {max(limits)}", lease.id


def find_over_rate(observed: Observations) -> Iterator[tuple[str, int]]:
    """Leases that came sooner than their channel's rate allows; each span with one setting is judged by itself."""
    for channel, leases in group_leases(observed).items():
        changes = observed.changes.get(channel, [])
        if not any("min_interval_ms" in each.options for each in changes):
            continue
        span: list[Lease] = []
        rate: tuple[Any, Any] | None = None
        for lease in leases:
            intervals = list_values_in_force(changes, "min_interval_ms", lease.begun, lease.heard)
            bursts = list_values_in_force(changes, "burst", lease.begun, lease.heard)
            sure = len(set(intervals)) == 1 and len(set(bursts)) == 1
            now = (intervals[0], bursts[0]) if sure else None
            if now != rate or now is None:
                yield from find_too_soon(channel, span, rate)
                span, rate = [], now
            span.append(lease)
        yield from find_too_soon(channel, span, rate)


def find_too_soon(
    channel: str, leases: Sequence[Lease], rate: tuple[Any, Any] | None
) -> Iterator[tuple[str, int]]:
    """Leases with more of them since an earlier one than the rate allows for that time.

    For leases i before j, j - i + 1 <= burst + (t_j - t_i) / interval: so with x = number * interval - t,
    x_j - x_i <= (burst - 1) * interval, and it is enough to compare each with the least x before it.
    """
    if rate is None or rate[0] is None:
        return
    interval, burst = rate[0], rate[1] or 1
    least = float("inf")
    for number, lease in enumerate(leases):
        x = number * interval - lease.at
        least = min(least, x)
        if x - least > (burst - 1) * interval:
            yield f"{channel} at {lease.at}: more than {burst} and one each {interval} ms", lease.id
