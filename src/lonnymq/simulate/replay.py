"""Replays a workload through the scheduler: recorded arrivals and service times, other limits and workers."""

from __future__ import annotations

from collections.abc import Mapping
from heapq import heappop, heappush

from lonnymq.simulate.ring import BITS, Channel, Cursor, Limits
from lonnymq.simulate.scheduler import Scheduler
from lonnymq.simulate.workload import ReplayTimes, Workload

NEVER = 1 << 62
LOW = (1 << BITS) - 1


def replay(
    work: Workload,
    limits: Mapping[str, Limits],
    *,
    workers: int,
    max_concurrency: int | None = None,
    default_limits: Limits | None = None,
) -> ReplayTimes:
    """Serve the workload under these limits, by workers that take one message at a time."""
    default = default_limits or Limits()
    channels = [
        Channel(name, limits.get(name, default), number) for number, name in enumerate(work.names)
    ]
    scheduler = Scheduler(channels, max_concurrency=max_concurrency)
    due_at, service, created, after = (
        list(work.due_at),
        work.service_ms,
        work.created_at,
        work.after,
    )
    home = [channels[number] for number in work.channel]
    messages = [(due << BITS) + number for number, due in enumerate(due_at)]
    started = [-1] * len(work)
    followers: dict[int, list[tuple[int, int]]] = {}
    for number, (first, gap) in after.items():
        followers.setdefault(first, []).append((number, gap))
    arrivals = [number for number in range(len(work)) if number not in after]
    arrivals.sort(key=created.__getitem__)
    arrivals.reverse()  # the next one stands last

    idle = [Cursor() for _ in range(workers)]
    running: list[int] = []  # a moment above, the number of the attempt that ends then below
    hand = [Cursor()] * len(work)  # who has it, of those that run
    take, arrive, finish = scheduler.take, scheduler.arrive, scheduler.finish
    told, wakes, seats = scheduler.told, scheduler.wakes, scheduler.ring.numbers
    next_arrival = created[arrivals[-1]] if arrivals else NEVER
    next_end, now, waiting, is_news = NEVER, 0, 0, False
    while True:
        before, now = now, next_end if next_end < next_arrival else next_arrival
        if wakes and wakes[0][0] < now and idle and waiting:
            wake_at = scheduler.next_wake()
            if wake_at is not None and wake_at < now:
                now = wake_at if wake_at > before else before
        if now == NEVER:
            return ReplayTimes(due_at, started)
        while next_arrival <= now:
            number = arrivals.pop()
            arrive(home[number], messages[number])
            waiting += 1
            next_arrival = created[arrivals[-1]] if arrivals else NEVER
        while next_end <= now:
            number = heappop(running) & LOW
            is_news = finish(home[number], messages[number]) or is_news
            idle.append(hand[number])
            if number in followers:
                for later, gap in followers[number]:
                    due_at[later] = now + gap
                    messages[later] = ((now + gap) << BITS) + later
                    scheduler.come_back(home[later], messages[later])
                    waiting += 1
            next_end = running[0] >> BITS if running else NEVER
        while waiting and idle and (told or seats or is_news or (wakes and wakes[0][0] <= now)):
            taken, is_news = take(idle[-1], now), False
            if taken is None:
                break
            number = taken & LOW
            hand[number] = idle.pop()
            started[number] = now
            waiting -= 1
            ends = now + service[number]
            heappush(running, (ends << BITS) + number)
            if ends < next_end:
                next_end = ends
