"""Many leases that run out at one moment: they are given to others in steps, and other tenants hardly wait."""

from __future__ import annotations

import time

from faults.call_log import CallLog, lease_row
from faults.environment import Environment
from faults.load import create_messages, pace, percentile
from faults.run import Run, running_processes

SIZES = {
    "test": {"messages": 500, "workers": 2, "rate": 20, "seconds": 3},
    "ci": {"messages": 20_000, "workers": 4, "rate": 50, "seconds": 20},
    "soak": {"messages": 200_000, "workers": 4, "rate": 50, "seconds": 180},
}
LEASE_MS = 8000
BOUND_MS = 2_000
WAITS = """
select (dequeued_at - dequeue_at)::float8 from lonnymq.history where message_id = any (%s) and attempt = 1
"""


def run_scenario(run: Run) -> None:
    """A consumer takes everything and is never heard of again; workers have other tenants to serve meanwhile."""
    with run.open_environment() as server, running_processes(run) as processes:
        channels = [f"tenant-{number % 50}" for number in range(run.messages)]
        create_messages(server.queue, run.call_log, channels, kind="quick", prefix="taken")
        until = take_all(run, server)
        run.count_fault("leases that expire together", run.messages)
        for _ in range(run.workers):
            processes.start("worker", dsn=server.dsn, concurrency=50)
        run.wait_until(
            lambda: len(server.queue.worker_list()) == run.workers, seconds=60, what="the workers"
        )
        quiet: list[int] = []
        for number in pace(run.rate, max(0.0, until / 1000 - time.time()) + run.seconds):
            quiet += create_messages(
                server.queue, run.call_log, [f"quiet-{number % 10}"], kind="quick",
                prefix=f"quiet-{number}",
            )  # fmt: skip
        run.wait_until_drained(server, seconds=300)
        run.record_recovery(time.time() - until / 1000)
        processes.terminate()
        run.check_result(server)
        waits = server.values(WAITS, quiet)
        worst = percentile(waits, 0.99)
        run.result.figures |= {
            "p50 ms of others": percentile(waits, 0.5),
            "p99 ms of others": worst,
        }
        if run.strict:
            run.require(
                worst <= BOUND_MS, "late", f"other tenants waited {worst:.0f} ms at the p99"
            )


def take_all(run: Run, server: Environment) -> int:
    """Lease every message, and return when the last lease ends."""
    call_log = CallLog(run.folder / "calls" / "consumer-0.jsonl")
    until = 0
    while True:
        number = call_log.begin("dequeue")
        batch = server.queue.dequeue(limit=1000, lease_ms=LEASE_MS, worker="consumer-0")
        call_log.end(number, "dequeue", "ok", rows=[lease_row(each) for each in batch])
        if not batch:
            return until
        until = max(until, *(each.lease_until for each in batch))
