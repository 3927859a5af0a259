"""(k) Memory of one consumer that drains a million: what its process holds, at the beginning and at the end."""

from __future__ import annotations

import time

import psutil

from benchmarks import fixtures, tasks
from benchmarks.run import Run
from benchmarks.summary_statistics import median

NAME = "lonnymq"
COUNT, QUICK_COUNT = 1_000_000, 50_000
BATCH = 500
LOOK_SECONDS = 0.1


def run(run: Run) -> None:
    count = QUICK_COUNT if run.quick else COUNT
    entrant = run.get_entrant(NAME, 100, purpose="memory")
    fixtures.load_messages(entrant.dsn, count, 100)
    group = entrant.group
    group.start([(tasks.consume_raw, (entrant.dsn, BATCH))])
    process = psutil.Process(group.processes[0].pid)
    seen: list[tuple[int, float]] = []
    while (done := group.counters.total(range(1))) < count:
        group.check(1)
        seen.append((done, process.memory_info().rss / 2**20))
        time.sleep(LOOK_SECONDS)
    group.finish(1)
    tenth = count // 10
    early = [size for done, size in seen if tenth / 2 <= done <= 2 * tenth]
    late = [size for done, size in seen if done >= count - tenth]
    for when, sizes in (("second tenth", early), ("last tenth", late)):
        entry = run.record.entry("memory", {"when": when}, NAME, "MiB")
        entry.samples.append(round(median(sizes), 2))
        entry.details.append(
            {"count": count, "handled_and_mib": seen if when == "last tenth" else []}
        )
    run.log(
        f"memory · {count:,} drained: {median(early):.1f} MiB early, {median(late):.1f} MiB late"
    )
    run.drop_entrants()
