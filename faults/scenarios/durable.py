"""Creates that were acknowledged are there after a crash: producers alone, while the server crashes again and again."""

from __future__ import annotations

import time
from functools import partial

from faults.environment import Environment
from faults.run import Run, running_processes

SIZES = {
    "test": {"crashes": 2, "producers": 2, "gap": 0.7},
    "ci": {"crashes": 6, "producers": 4, "gap": 1.0},
    "soak": {"crashes": 40, "producers": 4, "gap": 2.0},
}


def run_scenario(run: Run) -> None:
    """Nobody consumes before the last crash: the commits of consumers would write the log for the producers."""
    with run.open_environment() as server, running_processes(run) as processes:
        for number in range(run.producers):
            processes.start(
                "producer", dsn=server.dsn, seed=run.seed * 10 + number, count=10**9, rate=2000, kinds={"quick": 1},
                channels=[f"tenant-{each}" for each in range(20)], ways={"one": 4, "many": 1, "own": 1},
            )  # fmt: skip
        for _ in range(run.crashes):
            before = server.values("select count(*) from lonnymq.message")[0]
            run.wait_until(
                partial(has_more, server, before + 50),
                seconds=60, what="messages are made",
            )  # fmt: skip
            time.sleep(run.gap)
            server.stop("immediate")
            server.start()
            run.count_fault("server_immediate")
        for process in processes.with_role("producer"):
            process.terminate()
        processes.start("worker", dsn=server.dsn, concurrency=200)
        run.wait_until_drained(server, seconds=180)
        processes.terminate()
        run.check_result(server)


def has_more(server: Environment, count: int) -> bool:
    """Whether there are more messages than that."""
    return bool(server.values("select count(*) from lonnymq.message")[0] > count)
