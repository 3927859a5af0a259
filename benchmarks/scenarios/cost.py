"""(h) What a message costs the server: bytes of WAL, commits and dead rows, from create to settled."""

from __future__ import annotations

import time

import psycopg

from benchmarks import tasks
from benchmarks.entrant import Entrant
from benchmarks.processes import SystemFailed
from benchmarks.run import Run
from benchmarks.systems import get_system

ALL = ("lonnymq", "pgmq archive", "lonnymq history off", "pgmq delete", "PgQueuer", "skip locked table",
       "channel table", "Procrastinate")  # fmt: skip
COUNTS = {100: 10_000, 1: 500}  # messages at so many a call
CHANNELS = 100
COUNTERS = """
select pg_current_wal_lsn() - '0/0'::pg_lsn,
  (select xact_commit from pg_stat_database where datname = current_database()),
  (select coalesce(sum(n_tup_upd + n_tup_del), 0) from pg_stat_user_tables)
"""
WHAT = ("WAL bytes", "commits", "dead rows")


def run(run: Run) -> None:
    for batch, count in COUNTS.items():
        for name in run.select_systems(ALL):
            sample(run, name, batch, min(count, get_system(name).backlog // 10))
    run.drop_entrants()


def sample(run: Run, name: str, batch: int, count: int) -> None:
    entries = [
        run.record.entry("cost", {"batch": batch, "what": what}, name, "per message")
        for what in WHAT
    ]
    try:
        entrant = run.get_entrant(name, CHANNELS, purpose="cost")
        pass_through(entrant, batch, count)  # the first time after a checkpoint writes whole pages
        costs = [measure_cost(entrant, batch, count) for _ in range(min(run.repeat, 2))]
    except SystemFailed as failure:
        for entry in entries:
            entry.error = str(failure)
        run.log(f"cost · {name}: FAILED: {failure}")
        return
    for entry, samples in zip(entries, zip(*costs, strict=True), strict=True):
        entry.samples.extend(round(cost, 3) for cost in samples)
    results = ", ".join(
        f"{entry.median:,.2f} {what}" for what, entry in zip(WHAT, entries, strict=True)
    )
    run.log(f"cost · {name}, {batch} per call: {results} per message")


def measure_cost(entrant: Entrant, batch: int, count: int) -> list[float]:
    before = read_counters(entrant.dsn)
    pass_through(entrant, batch, count)
    return [
        (then - now) / count for now, then in zip(before, read_counters(entrant.dsn), strict=True)
    ]


def pass_through(entrant: Entrant, batch: int, count: int) -> None:
    """Create so many, then consume them all."""
    group, members = entrant.group, get_system(entrant.name).consumers(batch)
    group.call(tasks.produce_count, entrant.name, entrant.dsn, batch, CHANNELS, count)
    group.start([(tasks.consume, (entrant.name, entrant.dsn, batch))] * members)
    deadline = time.monotonic() + 30
    while group.counters.total(range(members)) < count:
        group.check(members)
        if time.monotonic() > deadline:
            group.close()
            raise SystemFailed(f"{count:,} messages were not through in 30 s")
        time.sleep(0.01)
    group.finish(members)


def read_counters(dsn: str) -> tuple[float, ...]:
    """Counters of this moment; backends hand theirs in when they end."""
    time.sleep(0.3)
    with psycopg.connect(dsn, autocommit=True) as connection:
        row = connection.execute(COUNTERS).fetchone()
    assert row
    return tuple(float(each) for each in row)
