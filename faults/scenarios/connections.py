"""The connection limit reached: callers are told, workers wait and go on, and all drains when there is room."""

from __future__ import annotations

import time

import psycopg

from faults.environment import Environment
from faults.load import create_messages
from faults.run import Run, running_processes
from lonnymq import Queue

SIZES = {
    "test": {"limit": 24, "seconds": 2, "messages": 100},
    "ci": {"limit": 40, "seconds": 8, "messages": 2_500},
    "soak": {"limit": 40, "seconds": 30, "messages": 5_000},
}
DONE = "select count(*) from lonnymq.history"
NO_WORKERS = "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'lonnymq worker'"


def run_scenario(run: Run) -> None:
    """Somebody takes every connection there is while workers lose theirs."""
    with (
        run.open_environment(max_connections=run.limit) as server,
        running_processes(run) as processes,
    ):
        for _ in range(3):
            processes.start("worker", dsn=server.dsn, concurrency=10, lease_ms=2000)
        channels = [f"tenant-{number % 10}" for number in range(run.messages)]
        create_messages(server.queue, run.call_log, channels, kind="slow", prefix="before")
        run.wait_until(
            lambda: len(server.queue.worker_list()) == 3, seconds=60, what="the workers are there"
        )
        keeper = server.connect()  # a connection of ours, from before
        hogs: list[psycopg.Connection] = []
        began = time.monotonic()
        rejected = 0
        while time.monotonic() - began < run.seconds:
            keeper.execute(NO_WORKERS)  # and who is quickest has their places
            while len(hogs) < run.limit:
                try:
                    hogs.append(psycopg.connect(server.dsn))
                except psycopg.OperationalError:
                    rejected += 1
                    break
            time.sleep(0.2)
        run.count_fault("connection limit reached", rejected)
        results = run.wait_until(
            lambda: rejection(server, hogs),
            seconds=60,
            what="a caller is told that there is no connection left",
        )
        run.result.figures["the caller was told"] = results
        for hog in hogs:
            hog.close()
        create_messages(server.queue, run.call_log, channels[:100], kind="quick", prefix="after")
        began = time.monotonic()
        before = server.values(DONE)[0]
        run.wait_until(lambda: server.values(DONE)[0] > before, seconds=60, what="work goes on")
        run.record_recovery(time.monotonic() - began)
        run.wait_until_drained(server, seconds=120)
        keeper.close()
        processes.terminate()
        run.check_result(server)


def rejection(server: Environment, hogs: list[psycopg.Connection]) -> str | None:
    """Take what connections are left, and say what a caller of the library is told then."""
    try:
        while True:
            hogs.append(psycopg.connect(server.dsn))
    except psycopg.OperationalError:
        pass
    try:
        Queue(server.dsn).epoch()
    except psycopg.OperationalError as error:
        text = f"{type(error).__name__}: {str(error).splitlines()[0].rsplit('FATAL:')[-1].strip()}"
        return text if "too many" in text or "reserved" in text else None
    return None
