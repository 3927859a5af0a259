"""Two hundred workers on one queue: every message is handled once, and nobody waits for anybody."""

from __future__ import annotations

import random
import time

from faults.environment import Environment
from faults.injector import set_limits
from faults.load import create_messages
from faults.run import Run, running_processes

SIZES = {
    "test": {"workers": 12, "children": 6, "messages": 500},
    "ci": {"workers": 200, "children": 50, "messages": 10_000},
    "soak": {"workers": 200, "children": 50, "messages": 50_000},
}


def run_scenario(run: Run) -> None:
    """Workers as forked processes, each with connections of its own."""
    rng = random.Random(run.seed)
    with (
        run.open_environment(max_connections=run.workers * 6 + 50) as server,
        running_processes(run) as processes,
    ):
        set_limits(server, run.call_log, "tenant-0", max_concurrency=7)
        set_limits(server, run.call_log, "tenant-1", min_interval_ms=5, burst=2)
        began = time.monotonic()
        for _ in range(run.workers // run.children):
            processes.start(
                "worker", dsn=server.dsn, processes=run.children, concurrency=4, lease_ms=30_000
            )
        run.wait_until(
            lambda: present(server) >= run.workers,
            seconds=180,
            what=f"{run.workers} workers are there",
        )
        run.result.figures["all there after s"] = round(time.monotonic() - began, 1)
        channels = [f"tenant-{number}" for number in rng.choices(range(100), k=run.messages)]
        began = time.monotonic()
        create_messages(server.queue, run.call_log, channels, kind="quick", prefix="crowd")
        run.wait_until_drained(server, seconds=300)
        run.result.figures |= {
            "workers": present(server),
            "connections": server.values(
                "select count(*) from pg_stat_activity where datname is not null"
            )[0],
            "messages a second": round(run.messages / (time.monotonic() - began)),
        }
        processes.terminate()
        observed = run.check_result(server)
        twice = sum(len(each) > 1 for each in observed.deliveries.values())
        run.result.figures["delivered twice"] = twice


def present(server: Environment) -> int:
    """How many workers say that they are there."""
    return int(server.values("select count(*) from lonnymq.worker")[0])
