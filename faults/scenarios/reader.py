"""Consumers that stand still while their messages are being sent to them: the others wait for a sweep, not for them."""

from __future__ import annotations

import time

from faults.load import create
from faults.run import Run, crew_of

SIZES = {
    "test": {"readers": 1},
    "ci": {"readers": 1},
    "soak": {"readers": 10},
}
AFTER, SWEEP = (
    15.0,
    13.0,
)  # seconds: a sweep ends who has been waited for so long; workers sweep so often
WAITS = "select count(*) from pg_stat_activity where wait_event = 'ClientWrite'"


def play(run: Run) -> None:
    """A dequeue whose answer, larger than any socket holds, is not read; then messages that others are to handle."""
    with run.stand() as server, crew_of(run) as crew:
        for number in range(run.readers):
            channels = [f"big-{number}-{each}" for each in range(10)]
            create(
                server.queue,
                run.journal,
                channels,
                kind="quick",
                prefix=f"big-{number}",
                padding=1 << 20,
            )
            reader = server.connect()
            reader.pgconn.send_query(b"select * from lonnymq.message_dequeue(10)")
            run.eventually(
                lambda: server.values(WAITS)[0] > 0, seconds=60, what="a consumer does not read"
            )
            run.fault("reader_stopped")
            began = time.monotonic()
            if number == 0:
                crew.add("worker", dsn=server.dsn)
            create(server.queue, run.journal, ["small"], kind="quick", prefix=f"small-{number}")
            run.drain(server, seconds=120)
            run.within(
                AFTER + SWEEP + 2,
                time.monotonic() - began,
                "work beside a consumer that does not read",
            )
            reader.close()
            run.say(f"{number + 1} of {run.readers}, {time.monotonic() - began:.1f} s")
        crew.end()
        run.judge(server)
