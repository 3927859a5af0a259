"""The connection limit reached: callers are told, workers wait and go on, and all drains when there is room."""

from __future__ import annotations

import time

import psycopg

from faults.load import create
from faults.run import Run, crew_of
from lonnymq import Queue

SIZES = {
    "test": {"limit": 24, "seconds": 2, "messages": 100},
    "ci": {"limit": 40, "seconds": 8, "messages": 5_000},
    "soak": {"limit": 40, "seconds": 120, "messages": 50_000},
}


def play(run: Run) -> None:
    """Somebody takes every connection there is while workers lose theirs."""
    with run.stand(max_connections=run.limit) as server, crew_of(run) as crew:
        for _ in range(3):
            crew.add("worker", dsn=server.dsn, concurrency=10, lease_ms=2000)
        channels = [f"tenant-{number % 10}" for number in range(run.messages)]
        create(server.queue, run.journal, channels, kind="slow", prefix="before")
        keeper = server.connect()  # a connection of ours, from before
        hogs: list[psycopg.Connection] = []
        began = time.monotonic()
        refused = 0
        while time.monotonic() - began < run.seconds:
            try:
                hogs.append(psycopg.connect(server.dsn))
            except psycopg.OperationalError:
                refused += 1
                # The workers' own go, one by one, and others are there to take their places.
                keeper.execute(
                    "select pg_terminate_backend(pid) from pg_stat_activity "
                    "where application_name = 'lonnymq worker' limit 1"
                )
                time.sleep(0.05)
        run.fault("connection limit reached", refused)
        told = "nothing"
        try:
            Queue(server.dsn).create("tenant-1", b"one-more", kind="quick")
        except psycopg.OperationalError as error:
            told = (
                f"{type(error).__name__}: {str(error).splitlines()[0].rsplit('FATAL:')[-1].strip()}"
            )
        run.must(
            "too many" in told or "reserved" in told, "connections", f"the caller was told {told}"
        )
        run.result.figures["the caller was told"] = told
        for hog in hogs:
            hog.close()
        began = time.monotonic()
        create(server.queue, run.journal, channels[:100], kind="quick", prefix="after")
        run.drain(server, seconds=120)
        run.recovered(time.monotonic() - began)
        keeper.close()
        crew.end()
        run.judge(server)
