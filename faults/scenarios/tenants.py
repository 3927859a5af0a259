"""Many tenants that have nothing to do: a dequeue takes at most 1.5 times as long as without them, at the p99."""

from __future__ import annotations

import time

from faults.environment import Environment
from faults.load import create_messages, percentile
from faults.run import Run

SIZES = {
    "test": {"idle": 500, "active": 20, "calls": 60},
    "ci": {"idle": 10_000, "active": 100, "calls": 1_500},
    "soak": {"idle": 100_000, "active": 100, "calls": 5_000},
}
BATCH = 10
HOUR_MS = 3_600_000


def run_scenario(run: Run) -> None:
    """Two servers, one with the idle ones and one without; a call to the one, a call to the other, in turn."""
    with run.open_environment() as few, run.open_environment() as many:
        idle(run, many)
        times: dict[bool, list[float]] = {False: [], True: []}
        total, contended = run.calls * BATCH, 0
        for server, is_many in ((few, False), (many, True)):
            channels = [f"active-{number % run.active}" for number in range(total)]
            create_messages(
                server.queue, run.call_log, channels, kind="quick", prefix=f"active-{is_many}"
            )
            server.queue.dequeue(limit=BATCH)
        for _ in range(run.calls - 1):
            for server, is_many in ((few, False), (many, True)):
                began = time.perf_counter()
                batch = server.queue.dequeue(limit=BATCH)
                contended += batch.reason == "contended"
                while batch.reason == "contended":
                    batch = server.queue.dequeue(limit=BATCH)
                times[is_many].append((time.perf_counter() - began) * 1000)
                run.require(len(batch) == BATCH, "empty", f"{len(batch)} of {BATCH}")
        for server in (few, many):
            for row in server.queue.check():
                run.add_violation("queue_check", f"{row}", row.message_id)
        run.result.messages = 2 * total + run.idle
    few_p99, many_p99 = (percentile(times[each], 0.99) for each in (False, True))
    run.result.figures |= {
        f"p99 ms beside {run.idle} idle": round(many_p99, 2), "without": round(few_p99, 2),
        "contended": contended,
        "median ms": round(percentile(times[True], 0.5), 2), "without them": round(percentile(times[False], 0.5), 2),
    }  # fmt: skip
    if run.strict:
        run.require(
            many_p99 <= 1.5 * few_p99,
            "late",
            f"p99 {many_p99:.2f} ms, without them {few_p99:.2f} ms",
        )


def idle(run: Run, server: Environment) -> None:
    """Tenants with nothing to give: scheduled for later, paused, at their limit, or done."""
    names = [f"idle-{number}" for number in range(run.idle)]
    quarter = run.idle // 4
    scheduled, done, paused, saturated = (
        names[at * quarter : (at + 1) * quarter] for at in range(4)
    )
    create_messages(
        server.queue, run.call_log, scheduled, kind="quick", prefix="scheduled", delay_ms=HOUR_MS
    )
    create_messages(server.queue, run.call_log, done, kind="quick", prefix="done")
    while batch := server.queue.dequeue(limit=1000):
        server.queue.complete_many(batch)
    setting = "select lonnymq.channel_set(n, '{\"max_concurrency\": 1}') from unnest(%s::text[]) n"
    server.values(setting, saturated)
    create_messages(server.queue, run.call_log, saturated * 2, kind="quick", prefix="saturated")
    while server.queue.dequeue(limit=1000, lease_ms=10 * HOUR_MS):
        pass
    server.values(
        "select lonnymq.channel_set(n, '{\"weight\": 1}') from unnest(%s::text[]) n", paused
    )
    server.values("select lonnymq.channel_pause(n) from unnest(%s::text[]) n", paused)
    create_messages(server.queue, run.call_log, paused, kind="quick", prefix="paused")
    server.queue.dequeue(limit=1)
    with server.connect() as connection:
        connection.execute("vacuum analyze")
