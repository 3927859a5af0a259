"""Consumers that stop reading while their messages are being sent: the others wait for a sweep, not for them."""

from __future__ import annotations

import time

from faults.load import create_messages
from faults.run import Run, running_processes

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


def run_scenario(run: Run) -> None:
    """A dequeue whose answer, larger than any socket holds, is not read; then messages that others are to handle."""
    with run.open_environment() as server, running_processes(run) as processes:
        for number in range(run.readers):
            channels = [f"big-{number}-{each}" for each in range(10)]
            create_messages(
                server.queue,
                run.call_log,
                channels,
                kind="quick",
                prefix=f"big-{number}",
                padding=1 << 20,
            )
            reader = server.connect()
            reader.pgconn.send_query(b"select * from lonnymq.message_dequeue(10)")
            run.wait_until(
                lambda: server.values(WAITS)[0] > 0, seconds=60, what="a consumer does not read"
            )
            run.count_fault("reader_stopped")
            began = time.monotonic()
            if number == 0:
                processes.start("worker", dsn=server.dsn)
            create_messages(
                server.queue, run.call_log, ["small"], kind="quick", prefix=f"small-{number}"
            )
            run.wait_until_drained(server, seconds=120)
            run.require_within(
                AFTER + SWEEP + 2,
                time.monotonic() - began,
                "work beside a consumer that does not read",
            )
            reader.close()
            run.log(f"{number + 1} of {run.readers}, {time.monotonic() - began:.1f} s")
        processes.terminate()
        run.check_result(server)
