"""The connection limit reached: callers are told, workers wait and go on, and all drains when there is room."""

from __future__ import annotations

import time

import psycopg

from faults.load import create
from faults.run import Run, crew_of
from faults.environment import Stand
from lonnymq import Queue

SIZES = {
    "test": {"limit": 24, "seconds": 2, "messages": 100},
    "ci": {"limit": 40, "seconds": 8, "messages": 2_500},
    "soak": {"limit": 40, "seconds": 30, "messages": 5_000},
}
DONE = "select count(*) from lonnymq.history"
NO_WORKERS = "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'lonnymq worker'"


def play(run: Run) -> None:
    """Somebody takes every connection there is while workers lose theirs."""
    with run.stand(max_connections=run.limit) as server, crew_of(run) as crew:
        for _ in range(3):
            crew.add("worker", dsn=server.dsn, concurrency=10, lease_ms=2000)
        channels = [f"tenant-{number % 10}" for number in range(run.messages)]
        create(server.queue, run.journal, channels, kind="slow", prefix="before")
        run.eventually(
            lambda: len(server.queue.worker_list()) == 3, seconds=60, what="the workers are there"
        )
        keeper = server.connect()  # a connection of ours, from before
        hogs: list[psycopg.Connection] = []
        began = time.monotonic()
        refused = 0
        while time.monotonic() - began < run.seconds:
            keeper.execute(NO_WORKERS)  # and who is quickest has their places
            while len(hogs) < run.limit:
                try:
                    hogs.append(psycopg.connect(server.dsn))
                except psycopg.OperationalError:
                    refused += 1
                    break
            time.sleep(0.2)
        run.fault("connection limit reached", refused)
        told = run.eventually(
            lambda: refusal(server, hogs),
            seconds=60,
            what="a caller is told that there is no connection left",
        )
        run.result.figures["the caller was told"] = told
        for hog in hogs:
            hog.close()
        create(server.queue, run.journal, channels[:100], kind="quick", prefix="after")
        began = time.monotonic()
        before = server.values(DONE)[0]
        run.eventually(lambda: server.values(DONE)[0] > before, seconds=60, what="work goes on")
        run.recovered(time.monotonic() - began)
        run.drain(server, seconds=120)
        keeper.close()
        crew.end()
        run.judge(server)


def refusal(server: Stand, hogs: list[psycopg.Connection]) -> str | None:
    """Take what connections are left, and say what a caller of the library is told then."""
    try:
        while True:
            hogs.append(psycopg.connect(server.dsn))
    except psycopg.OperationalError:
        pass
    try:
        Queue(server.dsn).epoch()
    except psycopg.OperationalError as error:
        said = f"{type(error).__name__}: {str(error).splitlines()[0].rsplit('FATAL:')[-1].strip()}"
        return said if "too many" in said or "reserved" in said else None
    return None
