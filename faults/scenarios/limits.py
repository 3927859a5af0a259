"""Concurrency and rate, exactly: limits changed while workers lease as fast as they can, and every lease swept."""

from __future__ import annotations

import random
import time

from faults.environment import Environment
from faults.injector import set_limits
from faults.limits import QUEUE, group_leases
from faults.load import create_messages
from faults.run import Run, running_processes

SIZES = {
    "test": {"messages": 1_000, "changes": 15, "workers": 2, "gap": 0.1},
    "ci": {"messages": 14_000, "changes": 100, "workers": 4, "gap": 0.15},
    "soak": {"messages": 60_000, "changes": 1_000, "workers": 6, "gap": 0.2},
}
CONCURRENT = [f"concurrent-{number}" for number in range(4)]
RATED = [f"rated-{number}" for number in range(4)]


def run_scenario(run: Run) -> None:
    """Change limits; then let go of them, drain, and sweep."""
    rng = random.Random(run.seed)
    with run.open_environment() as server, running_processes(run) as processes:
        for channel in CONCURRENT:
            set_limits(server, run.call_log, channel, max_concurrency=3)
        for channel in RATED:
            set_limits(server, run.call_log, channel, min_interval_ms=5, burst=3)
        set_limits(server, run.call_log, QUEUE, max_concurrency=20)
        for _ in range(run.workers):
            processes.start("worker", dsn=server.dsn, concurrency=30, lease_ms=3000)
        channels = rng.choices([*CONCURRENT, *RATED], k=run.messages)
        for number in range(20):
            kind = "slow" if number % 5 in (1, 3) else "quick"
            create_messages(
                server.queue,
                run.call_log,
                channels[number::20],
                kind=kind,
                prefix=f"{kind}-{number}",
            )
        beside = 0
        for number in range(run.changes):
            time.sleep(run.gap * rng.uniform(0.5, 1.5))
            beside += server.queue.stats().waiting > 0
            change_limit(run, server, rng)
            run.count_fault("limits_changed")
            if number % 10 == 9:
                run.log(f"{number + 1} of {run.changes} changes")
        for channel in RATED:
            set_limits(server, run.call_log, channel, min_interval_ms=1, burst=50)
        for channel in (*CONCURRENT, QUEUE):
            set_limits(server, run.call_log, channel, max_concurrency=50)
        run.wait_until_drained(server, seconds=300)
        processes.terminate()
        observed = run.check_result(server)
        leases = group_leases(observed)
        run.result.figures["leases swept"] = len(leases[QUEUE])
        run.result.figures["changes beside a backlog"] = f"{beside} of {run.changes}"


def change_limit(run: Run, server: Environment, rng: random.Random) -> None:
    """Change one channel's limit, or that of the queue."""
    options = {"max_concurrency": rng.randint(1, 12)}
    channel = rng.choice([*CONCURRENT, *RATED, QUEUE, QUEUE])
    if channel in RATED:
        options = {
            "min_interval_ms": rng.choice([5, 10, 20, 40]),
            "burst": rng.randint(1, 6),
        }
    elif channel == QUEUE:
        options = {"max_concurrency": rng.randint(10, 30)}
    set_limits(server, run.call_log, channel, **options)
