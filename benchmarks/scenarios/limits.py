"""(i) The price of limits: a drain with limits that never bind, and how much of the slots is used where limits bind."""

from __future__ import annotations

from typing import Any

import psycopg

from benchmarks import tasks
from benchmarks.entrant import Entrant, Measurement
from benchmarks.run import Run
from lonnymq import Queue

NAME = "lonnymq"
WORKER = "lonnymq worker"
CHANNELS = 100
BACKLOG = 150_000
FAR = 100_000  # a limit that no sample reaches
LIMITS: dict[str, dict[str, Any]] = {
    "none": {},
    "concurrency": {"default_max_concurrency": FAR},
    "rate": {"default_min_interval_ms": 1, "default_burst": 1_000_000},
    "both": {
        "default_max_concurrency": FAR,
        "default_min_interval_ms": 1,
        "default_burst": 1_000_000,
    },
    "queue": {"max_concurrency": FAR},
}
BINDING = {10: 0.005, 100: 0.05}  # seconds of work, by channels with two slots each
SLOTS = 2
# The time of leases in the last so many milliseconds before the workers stopped to lease.
USED = """
    select coalesce(sum(least(h.finished_at, e.last_at) - greatest(h.dequeued_at, e.last_at - %(ms)s)), 0)
    from (select max(h.dequeued_at) as last_at from lonnymq.history h) e
    join lonnymq.history h on h.finished_at > e.last_at - %(ms)s and h.dequeued_at < e.last_at
"""


def run(run: Run) -> None:
    for batch in (100, 1):
        for _ in range(run.repeat):
            for limits in LIMITS:
                sample(run, batch, limits)
    for channels, work_seconds in BINDING.items():
        for _ in range(run.repeat):
            sample_binding(run, channels, work_seconds)
    run.drop_entrants()


def sample(run: Run, batch: int, limits: str) -> None:
    def take() -> Measurement:
        entrant = get_limited_entrant(run, limits)
        entrant.fill(BACKLOG)
        return entrant.drain(batch, run.seconds)

    run.sample("limits", {"batch": batch, "limits": limits}, NAME, "messages/s", take)


def get_limited_entrant(run: Run, limits: str) -> Entrant:
    entrant = run.get_entrant(NAME, CHANNELS, purpose=f"limits {limits}")
    if not entrant.waiting and LIMITS[limits]:
        with Queue(entrant.dsn) as queue:
            queue.set(**LIMITS[limits])
    return entrant


def sample_binding(run: Run, channels: int, work_seconds: float) -> None:
    """How much of the time of all slots messages are leased, with more workers than slots and a backlog."""

    def take() -> Measurement:
        entrant = run.get_entrant(WORKER, channels, purpose="limits binding")
        with Queue(entrant.dsn) as queue:
            queue.set(default_max_concurrency=SLOTS)
        entrant.fill(20_000)
        work = (tasks.listen, (WORKER, entrant.dsn, work_seconds, channels * SLOTS))
        entrant.measure([work] * 2, range(2), run.seconds)
        entrant.waiting -= entrant.group.counters.total(range(2))
        return count_used(entrant, channels, run.seconds)

    case = {"channels with 2 slots": channels, "work": f"{work_seconds * 1000:g} ms"}
    run.sample("limits", case, WORKER, "% of slot time used", take)


def count_used(entrant: Entrant, channels: int, seconds: float) -> Measurement:
    """The part of the slots' time in which a message was leased: a rate of 100 is every slot at every moment."""
    with psycopg.connect(entrant.dsn) as connection:
        row = connection.execute(USED, {"ms": int(seconds * 1000)}).fetchone()
    assert row is not None
    return Measurement(int(row[0]), seconds * 10 * channels * SLOTS)
