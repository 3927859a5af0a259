"""(g) A held snapshot: 500 messages a second for a minute, with an open reader and without, side by side.

Every system runs twice at once, in two databases, of which one has a reader that keeps its snapshot: 10 a call in
and 10 a call out. Then, with the reader still there, how fast each of them drains one a call. The peers run together
after ours: what they lose to dead rows they take from the processor, and nobody else shall pay for it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import psycopg

from benchmarks import tasks
from benchmarks.entrant import Entrant, Measurement
from benchmarks.processes import SystemFailed
from benchmarks.run import Run

ALL = ("lonnymq", "pgmq archive", "skip locked table", "PgQueuer")
RATE, BATCH = 500, 10
READERS = ("none", "open")
LAST_SECONDS = 20
AFTER = 10_000  # messages loaded to drain at the end


def run(run: Run) -> None:
    for together in (ALL[:1], ALL[1:]):
        run_side_by_side(run, [name for name in run.select_systems(ALL) if name in together])


def run_side_by_side(run: Run, names: list[str]) -> None:
    """These systems at once, each with a reader and without."""
    seconds = 10 if run.quick else run.held_seconds
    asked = {
        (name, reader): open_entrant(run, name, reader) for name in names for reader in READERS
    }
    entrants = {key: entrant for key, entrant in asked.items() if entrant}
    with ExitStack() as readers:
        for (_, reader), entrant in entrants.items():
            if reader == "open":
                readers.enter_context(hold_snapshot(entrant.dsn))
        keep_rate(run, entrants, seconds)
        for _ in range(min(run.repeat, 2)):
            for (name, reader), entrant in entrants.items():
                measure_drain_after(run, name, reader, entrant)
    run.drop_entrants()


def open_entrant(run: Run, name: str, reader: str) -> Entrant | None:
    try:
        return run.get_entrant(name, 1, purpose=f"snapshot {reader}", group=reader)
    except SystemFailed as failure:
        run.record.entry(
            "snapshot", {"reader": reader, "what": "kept"}, name, "messages/s"
        ).error = str(failure)
        return None


@contextmanager
def hold_snapshot(dsn: str) -> Iterator[None]:
    """An analyst who went for lunch."""
    with psycopg.connect(dsn) as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.execute("select count(*) from pg_class")
        yield
        connection.rollback()


def keep_rate(run: Run, entrants: dict[tuple[str, str], Entrant], seconds: int) -> None:
    """Let all run for so long, and write down how many came through in each second."""
    for entrant in entrants.values():
        make = (tasks.produce_at_rate, (entrant.name, entrant.dsn, RATE, BATCH, entrant.channels))
        entrant.group.start([(tasks.consume, (entrant.name, entrant.dsn, BATCH)), make])
    series = count_each_second(run, entrants, seconds)
    for (name, reader), counts in series.items():
        entry = run.record.entry("snapshot", {"reader": reader, "what": "kept"}, name, "messages/s")
        last = counts[-min(LAST_SECONDS, seconds) :]
        entry.samples.append(round(sum(last) / len(last), 1))
        entry.details.append({"seconds": seconds, "each_second": counts})
        run.log(
            f"snapshot · {name}, reader {reader}: {entry.samples[-1]:.0f}/s of {RATE}/s at the end"
        )
    for entrant in entrants.values():
        made = entrant.group.counters.handled[1]
        entrant.group.finish(2)
        entrant.waiting = made - entrant.group.counters.total(range(1))


def count_each_second(
    run: Run, entrants: dict[tuple[str, str], Entrant], seconds: int
) -> dict[tuple[str, str], list[int]]:
    seen = {key: entrant.group.counters.total(range(1)) for key, entrant in entrants.items()}
    series: dict[tuple[str, str], list[int]] = {key: [] for key in entrants}
    start = time.monotonic()
    for second in range(1, seconds + 1):
        time.sleep(max(0.0, start + second - time.monotonic()))
        for key, entrant in entrants.items():
            total = entrant.group.counters.total(range(1))
            series[key].append(total - seen[key])
            seen[key] = total
        if second % 20 == 0:
            run.log(f"snapshot · held for {second} s")
    return series


def measure_drain_after(run: Run, name: str, reader: str, entrant: Entrant) -> None:
    case = {"reader": reader, "what": "drain after"}

    def take() -> Measurement:
        entrant.fill(AFTER, vacuumed=False)
        return entrant.drain(1, 1.0)

    run.sample("snapshot", case, name, "messages/s", take)
