"""Measures predictions: records a load with settings A, predicts settings B from its history, and runs B for real.

    python scripts/measure_predictions.py --seconds 60

Messages arrive at the same times in both runs, in a queue on a private PostgreSQL. A worker of this process handles
them: its handler sleeps as long as the message says. Waits per tenant are compared, predicted beside actual.
"""

import argparse
import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import lonnymq
from lonnymq.embedded_postgres import temporary
from lonnymq.results import HistoryRow
from lonnymq.simulate import (
    Limits,
    ReplayResult,
    Scenario,
    Workload,
    WorkloadShape,
    build_workload,
    fit_workers,
    make_workload,
    run_scenario,
    summarize_replay,
)

TOLERANCE_MS = 50  # below this a difference is that of a worker which notices a message
SERVICE_MS = 200  # of a message, on average
TENANTS, NOISY = 6, "tenant-1"
GOLD = "tenant-2"


@dataclass(frozen=True)
class Pair:
    """Settings A, which are recorded, and settings B, which are predicted. `load` is for the workers of A."""

    name: str
    recorded: Scenario
    predicted: Scenario
    load: float = 1.05


@dataclass(frozen=True)
class Comparison:
    """The waits of each tenant under A as recorded, and under B predicted and actual, in milliseconds."""

    pair: Pair
    recorded: ReplayResult
    predicted: ReplayResult
    actual: ReplayResult
    errors: dict[str, list[float]] = field(default_factory=dict)


def limited(channel: str, **limits: int) -> dict[str, Limits]:
    """Limits of a channel."""
    return {channel: Limits(**limits)}


PAIRS = (
    Pair("8 to 12 workers", Scenario(8), Scenario(12), load=1.6),
    Pair("8 to 7 workers", Scenario(8), Scenario(7), load=0.9),
    Pair(
        "noisy tenant: no limit to `max_concurrency` 3",
        Scenario(8),
        Scenario(8, limited(NOISY, max_concurrency=3)),
    ),
    Pair(
        "noisy tenant: `max_concurrency` 2 to none",
        Scenario(8, limited(NOISY, max_concurrency=2)),
        Scenario(8),
    ),
    Pair(
        "weight of another tenant: 1 to 5",
        Scenario(8),
        Scenario(8, limited(GOLD, weight=5)),
        load=1.2,
    ),
    Pair(
        "noisy tenant: no limit to `min_interval_ms` 120",
        Scenario(8),
        Scenario(8, limited(NOISY, min_interval_ms=120)),
    ),
)


def make_load(pair: Pair, seconds: float, seed: int) -> Workload:
    """The messages of both runs: a noisy tenant sends 40%."""
    workers = pair.recorded.workers
    shape = WorkloadShape(
        messages=round(seconds * pair.load * workers * 1000 / SERVICE_MS), tenants=TENANTS, workers=workers,
        load=pair.load, noisy=0.4, service_ms=SERVICE_MS, seed=seed,
    )  # fmt: skip
    return make_workload(shape)


async def run_load(dsn: str, work: Workload, scenario: Scenario) -> list[HistoryRow]:
    """Run the load for real in a new queue, and return its history."""
    worker = lonnymq.Worker(dsn, concurrency=scenario.workers)
    done = 0

    @worker.handler("sleep")
    async def sleep(content: bytes) -> None:
        nonlocal done
        await asyncio.sleep(int(content) / 1000)
        done += 1

    async with lonnymq.AsyncQueue(dsn) as queue:
        await queue.install()
        for channel, limits in scenario.limits.items():
            await queue.channel_set(
                channel, max_concurrency=limits.max_concurrency,
                min_interval_ms=limits.min_interval_ms, weight=limits.weight,
            )  # fmt: skip
        working = asyncio.create_task(worker.run_async())
        await create_on_time(queue, work)
        while done < len(work):
            await asyncio.sleep(0.1)
        worker.stop()
        await working
        return await queue.history_read()


async def create_on_time(queue: lonnymq.AsyncQueue, work: Workload) -> None:
    """Create each message when its time comes."""
    order = sorted(range(len(work)), key=work.created_at.__getitem__)
    first, began = work.created_at[order[0]], time.monotonic()
    for number in order:
        ahead = (work.created_at[number] - first) / 1000 - (time.monotonic() - began)
        if ahead > 0:
            await asyncio.sleep(ahead)
        content = str(work.service_ms[number]).encode()
        await queue.create(work.names[work.channel[number]], content, kind="sleep")


def measure_pair(pair: Pair, seconds: float, seed: int) -> Comparison:
    """Record A, predict B, run B, and compare."""
    work = make_load(pair, seconds, seed)
    runs = []
    for scenario in (pair.recorded, pair.predicted):
        with temporary() as server:
            runs.append(build_workload(asyncio.run(run_load(server.dsn, work, scenario))))
    recorded, real = runs
    known = fit_workers(recorded, pair.recorded)
    wanted = replace(pair.predicted, processes=known.processes, settle_ms=known.settle_ms)
    predicted = run_scenario(recorded, wanted)
    actual = summarize_replay(real.work, real.times)
    errors = {
        part: [
            relative_error(
                getattr(predicted.tenants[name], part), getattr(actual.tenants[name], part)
            )
            for name in sorted(actual.tenants)
        ]
        for part in ("p50", "p95")
    }
    before = summarize_replay(recorded.work, recorded.times)
    return Comparison(pair, before, predicted, actual, errors)


def relative_error(predicted: int, actual: int) -> float:
    """The difference to what happened. Up to TOLERANCE_MS it counts as none."""
    difference = abs(predicted - actual)
    return 0.0 if difference <= TOLERANCE_MS else difference / max(actual, TOLERANCE_MS)


def format_row(found: Comparison) -> str:
    """A pair as a row of Markdown: the noisy tenant, another tenant, and the errors over all tenants."""
    cells = [found.pair.name]
    for name in (NOISY, GOLD):
        for part in ("p50", "p95"):
            both = (found.predicted.tenants[name], found.actual.tenants[name])
            cells.append(" / ".join(f"{getattr(each, part):,}" for each in both))
    cells += [format_errors(each) for each in found.errors.values()]
    return f"| {' | '.join(cells)} |"


def format_errors(errors: Sequence[float]) -> str:
    """The median and the largest error over tenants."""
    return f"{sorted(errors)[len(errors) // 2]:.0%}, {max(errors):.0%}"


def main() -> None:
    """Measure all pairs and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    for number, pair in enumerate(PAIRS):
        print(format_row(measure_pair(pair, asked.seconds, asked.seed + number)), flush=True)


if __name__ == "__main__":
    main()
