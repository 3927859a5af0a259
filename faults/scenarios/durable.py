"""Creates that were acknowledged are there after a crash: producers alone, while the server crashes again and again."""

from __future__ import annotations

import time
from functools import partial

from faults.run import Run, crew_of
from faults.environment import Stand

SIZES = {
    "test": {"crashes": 2, "producers": 2, "gap": 0.7},
    "ci": {"crashes": 6, "producers": 4, "gap": 1.0},
    "soak": {"crashes": 40, "producers": 4, "gap": 2.0},
}


def play(run: Run) -> None:
    """Nobody consumes before the last crash: the commits of consumers would write the log for the producers."""
    with run.stand() as server, crew_of(run) as crew:
        for number in range(run.producers):
            crew.add(
                "producer", dsn=server.dsn, seed=run.seed * 10 + number, count=10**9, rate=2000, kinds={"quick": 1},
                channels=[f"tenant-{each}" for each in range(20)], ways={"one": 4, "many": 1, "own": 1},
            )  # fmt: skip
        for _ in range(run.crashes):
            before = server.values("select count(*) from lonnymq.message")[0]
            run.eventually(
                partial(has_more, server, before + 50),
                seconds=60, what="messages are made",
            )  # fmt: skip
            time.sleep(run.gap)
            server.stop("immediate")
            server.start()
            run.fault("server_immediate")
        for hand in crew.of("producer"):
            hand.end()
        crew.add("worker", dsn=server.dsn, concurrency=200)
        run.drain(server, seconds=180)
        crew.end()
        run.judge(server)


def has_more(server: Stand, count: int) -> bool:
    """Whether there are more messages than that."""
    return bool(server.values("select count(*) from lonnymq.message")[0] > count)
