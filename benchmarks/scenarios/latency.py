"""(d) Latency: from before a create to the start of the handler, on a queue that is idle but for this message."""

from __future__ import annotations

import time

from benchmarks import tasks
from benchmarks.processes import SystemFailed
from benchmarks.run import Run
from benchmarks.summary_statistics import percentile

SAMPLES = 1_000
GAP_SECONDS = 0.010
ALL = ("lonnymq", "PgQueuer", "Procrastinate", "awa", "chancy")
TIMEOUT_SECONDS = 60.0


def run(run: Run) -> None:
    for number in range(run.repeat):
        for name in run.select_systems(ALL):
            if run.skips_round(number, "latency", name):
                continue
            sample(run, name, (200 if run.quick else SAMPLES) // run.repeat + 1)
    run.drop_entrants()


def sample(run: Run, name: str, count: int) -> None:
    half, far = ({"percentile": share} for share in ("p50", "p99"))
    entries = [run.record.entry("latency", case, name, "ms") for case in (half, far)]
    if entries[0].error:
        return
    try:
        waits = [wait / 1e6 for wait in measure_idle_waits(run, name, count)]
    except SystemFailed as failure:
        for entry in entries:
            entry.error = str(failure)
        run.log(f"latency · {name}: FAILED: {failure}")
        return
    for entry, share in zip(entries, (0.5, 0.99), strict=True):
        entry.samples.append(round(percentile(waits, share), 3))
    entries[0].details.append({"waits_ms": [round(wait, 3) for wait in waits]})
    run.log(
        f"latency · {name}: p50 {entries[0].samples[-1]:.2f} ms, p99 {entries[1].samples[-1]:.2f} ms"
    )


def measure_idle_waits(run: Run, name: str, count: int) -> list[int]:
    """One producer, one worker; the first tenth is for warming up."""
    entrant = run.get_entrant(name, 1, purpose="latency")
    group, enough = entrant.group, count + count // 10
    producer = (tasks.produce_slowly, (name, entrant.dsn, 0, 9, GAP_SECONDS))
    group.start([(tasks.listen, (name, entrant.dsn)), producer])
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while group.counters.total(range(1)) < enough:
        group.check(2)
        if time.monotonic() > deadline:
            group.close()
            raise SystemFailed(f"fewer than {enough} messages in {TIMEOUT_SECONDS:.0f} s")
        time.sleep(0.01)
    waits, _ = group.finish(2)
    return [wait for _, wait in waits][-count:]
