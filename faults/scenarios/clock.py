"""The server's clock stepped, forth and back, while the queue works: nothing is lost, nothing is done twice.

A lease that was to end later ends when the clock says so, which is sooner or later by the step; so it is with what is
scheduled. The checks that compare times are left out: with a clock that goes back there is no order of times.
"""

from __future__ import annotations

import random
import time

from faults.environment import Clock
from faults.run import Run, running_processes

SIZES = {
    "test": {"steps": 4, "rate": 50, "gap": 0.6, "most": 5},
    "ci": {"steps": 30, "rate": 200, "gap": 0.8, "most": 15},
    "soak": {"steps": 120, "rate": 200, "gap": 1.0, "most": 30},
}
BY_TIME = ("overlaps", "extra", "over limit", "run at once")


def run_scenario(run: Run) -> None:
    """Steps under load; then the true time again, and everything drains within the largest step."""
    if Clock.library() is None:
        run.result.figures["left out"] = "libfaketime is not installed"
        return
    rng = random.Random(run.seed)
    clock = Clock()
    with run.open_environment(clock=clock) as server, running_processes(run) as processes:
        server.queue.set(default_max_attempts=1000, default_retry_delays_ms=[50])
        for _ in range(3):
            processes.start("worker", dsn=server.dsn, concurrency=20, lease_ms=2000)
        producer = processes.start(
            "producer", dsn=server.dsn, seed=run.seed, count=10**9, rate=run.rate,
            kinds={"quick": 6, "slow": 1, "later": 1}, channels=[f"tenant-{number}" for number in range(20)],
        )  # fmt: skip
        run.wait_until(lambda: server.values("select exists (select from lonnymq.history)")[0],
                       seconds=60, what="work begins")  # fmt: skip
        for number in range(run.steps):
            offset = rng.uniform(-run.most, run.most) if number % 3 else 0.0
            clock.step(offset)
            asked = time.time()
            now = server.values("select extract(epoch from clock_timestamp())::float8")[0] - offset
            stepped = asked - 0.1 <= now <= time.time() + 0.1
            run.require(
                stepped,
                "clock",
                f"stepped to {offset:+.1f} s, the server is {now - asked:+.1f} s off",
            )
            run.log(f"step {number + 1}: {offset:+.1f} s")
            run.count_fault("clock_step")
            time.sleep(run.gap)
        producer.terminate()
        clock.step(0)
        began = time.monotonic()
        run.wait_until_drained(server, seconds=2 * run.most + 30 if run.strict else 240)
        run.record_recovery(time.monotonic() - began)
        processes.terminate()
        run.check_result(server, leave_out=BY_TIME)
