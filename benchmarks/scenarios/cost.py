"""(h) What a message costs the server: bytes of WAL, commits and dead rows, from create to settled."""

from __future__ import annotations

import time

import psycopg

from benchmarks import tasks
from benchmarks.systems import contestant
from benchmarks.processes import Failed
from benchmarks.entrant import Lane
from benchmarks.run import Run

ALL = ("lonnymq", "pgmq archive", "lonnymq history off", "pgmq delete", "PgQueuer", "skip locked table",
       "channel table", "Procrastinate")  # fmt: skip
COUNTS = {100: 10_000, 1: 500}  # messages at so many a call
CHANNELS = 100
LOOK = """
select pg_current_wal_lsn() - '0/0'::pg_lsn,
  (select xact_commit from pg_stat_database where datname = current_database()),
  (select coalesce(sum(n_tup_upd + n_tup_del), 0) from pg_stat_user_tables)
"""
WHAT = ("WAL bytes", "commits", "dead rows")


def run(run: Run) -> None:
    for batch, count in COUNTS.items():
        for name in run.among(ALL):
            sample(run, name, batch, min(count, contestant(name).backlog // 10))
    run.drop_lanes()


def sample(run: Run, name: str, batch: int, count: int) -> None:
    entries = [
        run.record.entry("cost", {"batch": batch, "what": what}, name, "a message") for what in WHAT
    ]
    try:
        lane = run.lane(name, CHANNELS, purpose="cost")
        pass_through(lane, batch, count)  # the first time after a checkpoint writes whole pages
        costs = [one_cost(lane, batch, count) for _ in range(min(run.repeat, 2))]
    except Failed as failure:
        for entry in entries:
            entry.error = str(failure)
        run.say(f"cost · {name}: FAILED: {failure}")
        return
    for entry, samples in zip(entries, zip(*costs, strict=True), strict=True):
        entry.samples.extend(round(cost, 3) for cost in samples)
    told = ", ".join(
        f"{entry.median:,.2f} {what}" for what, entry in zip(WHAT, entries, strict=True)
    )
    run.say(f"cost · {name}, {batch} a call: {told} a message")


def one_cost(lane: Lane, batch: int, count: int) -> list[float]:
    before = look(lane.dsn)
    pass_through(lane, batch, count)
    return [(then - now) / count for now, then in zip(before, look(lane.dsn), strict=True)]


def pass_through(lane: Lane, batch: int, count: int) -> None:
    """Create so many, then consume them all."""
    crew, members = lane.crew, contestant(lane.name).consumers(batch)
    crew.call(tasks.produce_count, lane.name, lane.dsn, batch, CHANNELS, count)
    crew.start([(tasks.consume, (lane.name, lane.dsn, batch))] * members)
    deadline = time.monotonic() + 30
    while crew.board.total(range(members)) < count:
        crew.check(members)
        if time.monotonic() > deadline:
            crew.close()
            raise Failed(f"{count:,} messages were not through in 30 s")
        time.sleep(0.01)
    crew.finish(members)


def look(dsn: str) -> tuple[float, ...]:
    """Counters of this moment; backends hand theirs in when they end."""
    time.sleep(0.3)
    with psycopg.connect(dsn, autocommit=True) as connection:
        row = connection.execute(LOOK).fetchone()
    assert row
    return tuple(float(each) for each in row)
