"""Two hundred workers on one queue: every message is handled once, and nobody waits for anybody."""

from __future__ import annotations

import random
import time

from faults.injector import set_limits
from faults.load import create
from faults.run import Run, crew_of
from faults.environment import Stand

SIZES = {
    "test": {"workers": 12, "processes": 6, "messages": 500},
    "ci": {"workers": 200, "processes": 50, "messages": 10_000},
    "soak": {"workers": 200, "processes": 50, "messages": 50_000},
}


def play(run: Run) -> None:
    """Workers as forked processes, each with connections of its own."""
    chance = random.Random(run.seed)
    with run.stand(max_connections=run.workers * 6 + 50) as server, crew_of(run) as crew:
        set_limits(server, run.journal, "tenant-0", max_concurrency=7)
        set_limits(server, run.journal, "tenant-1", release_interval_ms=5, burst=2)
        began = time.monotonic()
        for _ in range(run.workers // run.processes):
            crew.add(
                "worker", dsn=server.dsn, processes=run.processes, concurrency=4, lease_ms=30_000
            )
        run.eventually(
            lambda: present(server) >= run.workers,
            seconds=180,
            what=f"{run.workers} workers are there",
        )
        run.result.figures["all there after s"] = round(time.monotonic() - began, 1)
        channels = [f"tenant-{number}" for number in chance.choices(range(100), k=run.messages)]
        began = time.monotonic()
        create(server.queue, run.journal, channels, kind="quick", prefix="crowd")
        run.drain(server, seconds=300)
        run.result.figures |= {
            "workers": present(server),
            "connections": server.values(
                "select count(*) from pg_stat_activity where datname is not null"
            )[0],
            "messages a second": round(run.messages / (time.monotonic() - began)),
        }
        crew.end()
        evidence = run.judge(server)
        twice = sum(len(each) > 1 for each in evidence.deliveries.values())
        run.result.figures["delivered twice"] = twice


def present(server: Stand) -> int:
    """How many workers say that they are there."""
    return int(server.values("select count(*) from lonnymq.worker")[0])
