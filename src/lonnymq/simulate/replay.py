"""Replays a workload through the scheduler: recorded arrivals and service times, other limits and workers.

A calibration compares the recorded waits with a replay at the recorded settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from math import log

from lonnymq.errors import LonnyMQError
from lonnymq.simulate.result import ReplayResult, WaitStats, summarize_replay
from lonnymq.simulate.ring import BITS, Channel, Cursor, Limits
from lonnymq.simulate.scenario import Scenario
from lonnymq.simulate.scheduler import Scheduler
from lonnymq.simulate.workload import RecordedWorkload, ReplayTimes, Workload, scale_workload
from lonnymq.text import format_duration

NEVER = 1 << 62
LOW = (1 << BITS) - 1
PERCENTILES = ("p50", "p95", "p99")
PROCESSES = (1, 2, 4, 8)
FINE_MS = 10  # waits below that are about the same
TOLERANCE_MS = 50  # a worker takes about that long to notice a message


def replay(
    work: Workload,
    limits: Mapping[str, Limits],
    *,
    workers: int,
    max_concurrency: int | None = None,
    default_limits: Limits | None = None,
    processes: int | None = None,
    settle_ms: int = 0,
) -> ReplayTimes:
    """Serve the workload under these limits, by workers that take one message at a time.

    The workers of a process walk over the channels together. By default each worker is a process of its own.
    A worker takes the next message when the handler has ended, and that is `settle_ms` before the lease ends.
    """
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

    cursors = [Cursor() for _ in range(min(processes or workers, workers))]
    idle = [cursors[number % len(cursors)] for number in range(workers)]
    running: list[int] = []  # a moment above, the number of the attempt that ends then below
    settling: list[int] = []  # the same for the moment at which the worker of the attempt is free
    hand = [Cursor()] * len(work)  # who has it, of those that run
    take, arrive, finish = scheduler.take, scheduler.arrive, scheduler.finish
    changed, wakes, seats = scheduler.changed, scheduler.wakes, scheduler.ring.numbers
    next_arrival = created[arrivals[-1]] if arrivals else NEVER
    next_end, next_free, now, waiting, is_news = NEVER, NEVER, 0, 0, False
    while True:
        before, now = now, next_end if next_end < next_arrival else next_arrival
        if next_free < now:
            now = next_free
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
        while next_free <= now:
            idle.append(hand[heappop(settling) & LOW])
            next_free = settling[0] >> BITS if settling else NEVER
        while next_end <= now:
            number = heappop(running) & LOW
            is_news = finish(home[number], messages[number]) or is_news
            if not settle_ms:
                idle.append(hand[number])
            if number in followers:
                for later, gap in followers[number]:
                    due_at[later] = now + gap
                    messages[later] = ((now + gap) << BITS) + later
                    scheduler.come_back(home[later], messages[later])
                    waiting += 1
            next_end = running[0] >> BITS if running else NEVER
        while waiting and idle and (changed or seats or is_news or (wakes and wakes[0][0] <= now)):
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
            if settle_ms:
                free_at = ends - settle_ms if service[number] > settle_ms else now
                heappush(settling, (free_at << BITS) + number)
                next_free = settling[0] >> BITS


class ReplayInaccurate(LonnyMQError):
    """Choose a period without changes of limits and workers, and give the number of workers."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """The waits of all messages, recorded and replayed."""

    recorded: WaitStats
    replayed: WaitStats

    @property
    def error(self) -> float:
        """The largest relative error of a percentile. Differences up to TOLERANCE_MS count as none."""
        return max(self.error_of(name) for name in PERCENTILES)

    def error_of(self, percentile: str) -> float:
        """The relative error of one percentile."""
        was, is_now = (getattr(each, percentile) for each in (self.recorded, self.replayed))
        difference = abs(is_now - was)
        if difference <= TOLERANCE_MS:
            return 0.0
        return float(difference / max(was, TOLERANCE_MS))

    def check(self, most: float) -> None:
        """Raise if the error is larger than `most`."""
        if self.error > most:
            details = ", ".join(
                f"{name} {format_duration(getattr(self.recorded, name))} recorded and "
                f"{format_duration(getattr(self.replayed, name))} replayed"
                for name in PERCENTILES
            )
            raise ReplayInaccurate(
                f"the replay at the recorded settings is off by {self.error:.0%}, more than {most:.0%}: {details}. "
                f"Results for other settings would be as inaccurate. {ReplayInaccurate.__doc__}"
            )


def calibrate(history: RecordedWorkload, scenario: Scenario) -> Calibration:
    """Replay history at the settings that it was recorded at."""
    was = summarize_replay(history.work, history.times, history.counted)
    return Calibration(was.all, run_scenario(history, scenario).all)


def fit_workers(history: RecordedWorkload, scenario: Scenario) -> Scenario:
    """The scenario with the processes and the settle time at which a replay is closest to what was recorded.

    A worker with a name is a process. Without names the number of processes is the one that fits best.
    History has the end of each lease, but a worker takes the next message as soon as its handler has ended, before the
    lease is settled.
    """
    recorded = summarize_replay(history.work, history.times, history.counted)

    def distance(tried: Scenario) -> float:
        return measure_distance(recorded, run_scenario(history, tried))

    if history.processes is not None:
        apart = history.processes >= scenario.workers
        known = replace(scenario, processes=None if apart else history.processes)
        return fit_settle_time(history, known, recorded.all.mean)
    best, least = scenario, distance(scenario)
    for processes in PROCESSES:
        if processes < scenario.workers and least > 0:
            tried = replace(scenario, processes=processes)
            if (found := distance(tried)) < 0.9 * least:
                best, least = tried, found
    return fit_settle_time(history, best, recorded.all.mean)


def fit_settle_time(history: RecordedWorkload, scenario: Scenario, mean_ms: float) -> Scenario:
    """The scenario with the settle time at which a replay has this mean wait, at most half of a median attempt."""
    if run_scenario(history, scenario).all.mean <= mean_ms:
        return scenario
    services = sorted(history.work.service_ms)
    least, most = 1, max(1, services[len(services) // 2] // 2)
    while least < most:
        middle = (least + most) // 2
        if run_scenario(history, replace(scenario, settle_ms=middle)).all.mean <= mean_ms:
            most = middle
        else:
            least = middle + 1
    return replace(scenario, settle_ms=least)


def measure_distance(recorded: ReplayResult, replayed: ReplayResult) -> float:
    """How far the waits of tenants are apart: the mean of the logarithms of their ratios, weighted by messages."""
    total = 0.0
    for name, was in recorded.tenants.items():
        for part in ("p50", "p95"):
            pair = (getattr(each, part) + FINE_MS for each in (was, replayed.tenants[name]))
            total += was.messages * abs(log(next(pair) / next(pair)))
    return total / max(1, recorded.all.messages)


def run_scenario(
    history: RecordedWorkload, scenario: Scenario, *, growth: float = 1, seed: int = 1
) -> ReplayResult:
    """Replay history under a scenario, with so many times its messages, and sum it up."""
    work, counted = scale_workload(history.work, growth, seed=seed, counted=history.counted)
    replayed = replay(
        work,
        scenario.limits,
        workers=scenario.workers,
        max_concurrency=scenario.max_concurrency,
        default_limits=scenario.default_limits,
        processes=scenario.processes,
        settle_ms=scenario.settle_ms,
    )
    return summarize_replay(work, replayed, counted, scenario.weights(work.names))
