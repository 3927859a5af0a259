"""Replays a workload through the scheduler: arrivals and service times as they were, limits and workers as you like."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush

from lonnymq.simulate.ring import Channel, Cursor, Limits, Message
from lonnymq.simulate.scheduler import Scheduler

NEVER = 1 << 62


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
class Replayed:
    """When each attempt was due and when it began; -1 if it never did."""

    due_at: list[int]
    started_at: list[int]


def replay(
    work: Workload,
    limits: Mapping[str, Limits],
    *,
    workers: int,
    max_concurrency: int | None = None,
    otherwise: Limits | None = None,
) -> Replayed:
    """Let so many workers, one message each, serve the workload under these limits."""
    default = otherwise or Limits()
    channels = [
        Channel(name, limits.get(name, default), number) for number, name in enumerate(work.names)
    ]
    scheduler = Scheduler(channels, max_concurrency=max_concurrency)
    due_at, service = list(work.due_at), work.service_ms
    started = [-1] * len(work)
    followers: dict[int, list[tuple[int, int]]] = {}
    for number, (first, gap) in work.after.items():
        followers.setdefault(first, []).append((number, gap))
    arrivals = [number for number in range(len(work)) if number not in work.after]
    created, of = work.created_at, work.channel
    arrivals.sort(key=created.__getitem__)

    idle = [Cursor() for _ in range(workers)]
    running: list[tuple[int, int, Channel, Message, Cursor]] = []
    take, arrive, finish, ring = scheduler.take, scheduler.arrive, scheduler.finish, scheduler.ring
    at, end = 0, len(arrivals)
    next_arrival = created[arrivals[0]] if end else NEVER
    now = 0
    while True:
        before, now = now, next_arrival
        if running and running[0][0] < now:
            now = running[0][0]
        if idle and scheduler.waiting and scheduler.wakes:
            wake_at = scheduler.next_wake()
            if wake_at is not None and wake_at < now:
                now = max(wake_at, before)
        if now == NEVER:
            return Replayed(due_at, started)
        while next_arrival <= now:
            number = arrivals[at]
            arrive(channels[of[number]], (due_at[number], number))
            at += 1
            next_arrival = created[arrivals[at]] if at < end else NEVER
        while running and running[0][0] <= now:
            _, number, channel, message, cursor = heappop(running)
            finish(channel, message)
            idle.append(cursor)
            if number in followers:
                for later, gap in followers[number]:
                    due_at[later] = now + gap
                    arrive(channels[of[later]], (now + gap, later))
        while idle and scheduler.waiting and (scheduler.told or scheduler.wakes or ring.count):
            cursor = idle[-1]
            taken = take(cursor, now)
            if taken is None:
                break
            idle.pop()
            channel, message = taken
            number = message[1]
            started[number] = now
            heappush(running, (now + service[number], number, channel, message, cursor))
