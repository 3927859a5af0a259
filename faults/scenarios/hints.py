"""Notifications that do not arrive: the listener killed again and again; messages are late by a poll at most."""

from __future__ import annotations

import random
import time

from faults.injector import LISTENERS
from faults.load import create_messages
from faults.run import Run, running_processes

SIZES = {
    "test": {"messages": 60, "kills": 6},
    "ci": {"messages": 2_000, "kills": 40},
    "soak": {"messages": 10_000, "kills": 200},
}
POLL = 5.0
LATE = "select coalesce(max(dequeued_at - dequeue_at), 0) / 1000.0 from lonnymq.history where attempt = 1"


def run_scenario(run: Run) -> None:
    """Messages due now and later, while whoever listens is cut off; then some that are due when all is quiet."""
    rng = random.Random(run.seed)
    with run.open_environment() as server, running_processes(run) as processes:
        for _ in range(2):
            processes.start("worker", dsn=server.dsn, concurrency=20)
        run.wait_until(
            lambda: len(server.queue.worker_list()) == 2, seconds=60, what="the workers are there"
        )
        each = run.messages // run.kills
        for number in range(run.kills):
            channels = [f"tenant-{rng.randrange(20)}" for _ in range(each)]
            delay = rng.choice([0, 100, 500])
            create_messages(
                server.queue,
                run.call_log,
                channels,
                kind="quick",
                prefix=f"hint-{number}",
                delay_ms=delay,
            )
            ended = server.values(
                LISTENERS.replace("select pid", "select pg_terminate_backend(pid)")
            )
            run.count_fault("listener_killed", len(ended))
            time.sleep(rng.uniform(0, 0.3))
        run.wait_until_drained(server, seconds=60)
        create_messages(
            server.queue, run.call_log, ["later"] * 5, kind="quick", prefix="later", delay_ms=700
        )
        run.wait_until_drained(server, seconds=60)
        processes.terminate()
        run.check_result(server)
        run.require_within(
            POLL + 1, float(server.values(LATE)[0]), "a message whose notification was lost"
        )
