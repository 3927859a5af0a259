"""Notifications that do not arrive: the listener killed again and again; messages are late by a poll at most."""

from __future__ import annotations

import random
import time

from faults.injector import LISTENERS
from faults.load import create
from faults.run import Run, crew_of

SIZES = {
    "test": {"messages": 60, "kills": 6},
    "ci": {"messages": 2_000, "kills": 40},
    "soak": {"messages": 10_000, "kills": 200},
}
POLL = 5.0
LATE = "select coalesce(max(dequeued_at - dequeue_at), 0) / 1000.0 from lonnymq.history where attempt = 1"


def play(run: Run) -> None:
    """Messages due now and later, while whoever listens is cut off; then some that are due when all is quiet."""
    chance = random.Random(run.seed)
    with run.stand() as server, crew_of(run) as crew:
        for _ in range(2):
            crew.add("worker", dsn=server.dsn, concurrency=20)
        run.eventually(
            lambda: len(server.queue.worker_list()) == 2, seconds=60, what="the workers are there"
        )
        each = run.messages // run.kills
        for number in range(run.kills):
            channels = [f"tenant-{chance.randrange(20)}" for _ in range(each)]
            delay = chance.choice([0, 100, 500])
            create(
                server.queue,
                run.journal,
                channels,
                kind="quick",
                prefix=f"hint-{number}",
                delay_ms=delay,
            )
            ended = server.values(
                LISTENERS.replace("select pid", "select pg_terminate_backend(pid)")
            )
            run.fault("listener_killed", len(ended))
            time.sleep(chance.uniform(0, 0.3))
        run.drain(server, seconds=60)
        create(server.queue, run.journal, ["later"] * 5, kind="quick", prefix="later", delay_ms=700)
        run.drain(server, seconds=60)
        crew.end()
        run.judge(server)
        run.within(POLL + 1, float(server.values(LATE)[0]), "a message whose notification was lost")
