"""(i) The price of limits: a drain over 100 channels, with limits that are counted on every message and never bind."""

from __future__ import annotations

from typing import Any

from benchmarks.entrant import Entrant, Measurement
from benchmarks.run import Run
from lonnymq import Queue

NAME = "lonnymq"
CHANNELS = 100
BACKLOG = 150_000
LIMITS: dict[str, dict[str, Any]] = {
    "none": {},
    "concurrency": {"default_max_concurrency": 100_000},
    "rate": {"default_min_interval_ms": 1, "default_burst": 1_000_000},
    "both": {
        "default_max_concurrency": 100_000,
        "default_min_interval_ms": 1,
        "default_burst": 1_000_000,
    },
}


def run(run: Run) -> None:
    for batch in (100, 1):
        for _ in range(min(run.repeat, 2)):
            for limits in LIMITS:
                sample(run, batch, limits)
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
