"""(g) A held snapshot: 500 messages a second for a minute, with an open reader and without, side by side.

Every contestant runs twice at once, in two databases, of which one has a reader that keeps its snapshot: 10 a call in
and 10 a call out. Then, with the reader still there, how fast each of them drains one a call. The peers run together
after ours: what they lose to dead rows they take from the processor, and nobody else shall pay for it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import psycopg

from benchmarks import tasks
from benchmarks.processes import Failed
from benchmarks.entrant import Lane, Reading
from benchmarks.run import Run

ALL = ("lonnymq", "pgmq archive", "skip locked table", "PgQueuer")
RATE, BATCH = 500, 10
READERS = ("none", "open")
LAST_SECONDS = 20
AFTER = 10_000  # messages loaded to drain at the end


def run(run: Run) -> None:
    for together in (ALL[:1], ALL[1:]):
        side_by_side(run, [name for name in run.among(ALL) if name in together])


def side_by_side(run: Run, names: list[str]) -> None:
    """These contestants at once, each with a reader and without."""
    seconds = 10 if run.quick else run.held_seconds
    asked = {(name, reader): open_lane(run, name, reader) for name in names for reader in READERS}
    lanes = {key: lane for key, lane in asked.items() if lane}
    with ExitStack() as readers:
        for (_, reader), lane in lanes.items():
            if reader == "open":
                readers.enter_context(held_snapshot(lane.dsn))
        keep_rate(run, lanes, seconds)
        for _ in range(min(run.repeat, 2)):
            for (name, reader), lane in lanes.items():
                drain_after(run, name, reader, lane)
    run.drop_lanes()


def open_lane(run: Run, name: str, reader: str) -> Lane | None:
    try:
        return run.lane(name, 1, purpose=f"snapshot {reader}", crew=reader)
    except Failed as failure:
        run.record.entry(
            "snapshot", {"reader": reader, "what": "kept"}, name, "messages/s"
        ).error = str(failure)
        return None


@contextmanager
def held_snapshot(dsn: str) -> Iterator[None]:
    """An analyst who went for lunch."""
    with psycopg.connect(dsn) as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.execute("select count(*) from pg_class")
        yield
        connection.rollback()


def keep_rate(run: Run, lanes: dict[tuple[str, str], Lane], seconds: int) -> None:
    """Let all run for so long, and write down how many came through in each second."""
    for lane in lanes.values():
        make = (tasks.produce_at_rate, (lane.name, lane.dsn, RATE, BATCH, lane.channels))
        lane.crew.start([(tasks.consume, (lane.name, lane.dsn, BATCH)), make])
    series = watch(run, lanes, seconds)
    for (name, reader), counts in series.items():
        entry = run.record.entry("snapshot", {"reader": reader, "what": "kept"}, name, "messages/s")
        last = counts[-min(LAST_SECONDS, seconds) :]
        entry.samples.append(round(sum(last) / len(last), 1))
        entry.details.append({"seconds": seconds, "each_second": counts})
        run.say(
            f"snapshot · {name}, reader {reader}: {entry.samples[-1]:.0f}/s of {RATE}/s at the end"
        )
    for lane in lanes.values():
        made = lane.crew.board.handled[1]
        lane.crew.finish(2)
        lane.waiting = made - lane.crew.board.total(range(1))


def watch(
    run: Run, lanes: dict[tuple[str, str], Lane], seconds: int
) -> dict[tuple[str, str], list[int]]:
    seen = {key: lane.crew.board.total(range(1)) for key, lane in lanes.items()}
    series: dict[tuple[str, str], list[int]] = {key: [] for key in lanes}
    start = time.monotonic()
    for second in range(1, seconds + 1):
        time.sleep(max(0.0, start + second - time.monotonic()))
        for key, lane in lanes.items():
            total = lane.crew.board.total(range(1))
            series[key].append(total - seen[key])
            seen[key] = total
        if second % 20 == 0:
            run.say(f"snapshot · held for {second} s")
    return series


def drain_after(run: Run, name: str, reader: str, lane: Lane) -> None:
    case = {"reader": reader, "what": "drain after"}

    def take() -> Reading:
        lane.fill(AFTER, tidied=False)
        return lane.drain(1, 1.0)

    run.sample("snapshot", case, name, "messages/s", take)
