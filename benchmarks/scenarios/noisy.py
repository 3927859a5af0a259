"""(e) Noisy neighbour: one tenant with a flood, 99 quiet ones. What they wait, and how even the turns are.

Two workers of ours with their defaults, 32 messages at a time each, or 16 loops on the plain table; a message is 25 to
75 ms of work. The quiet tenants create 100 messages a second between them: alone, and beside a backlog whose end the
workers never see; then the same with the noisy tenant held to half of the places by its `max_concurrency`.
"""

from __future__ import annotations

import time
from collections import Counter

from benchmarks import tasks
from benchmarks.entrant import Entrant
from benchmarks.payload import channel_name
from benchmarks.processes import SystemFailed
from benchmarks.run import Run
from benchmarks.summary_statistics import percentile
from lonnymq import Queue
from lonnymq.fairness import jain_index

OURS, FIFO = "lonnymq", "skip locked table"
WORK_SECONDS = 0.050
FORMS = {OURS: (2, 32), FIFO: (16, 1)}  # processes, and messages at a time in each
GAP_SECONDS = 0.010
SECONDS = 8.0
FLOOD = 100_000
ALONE, BESIDE, LIMITED = (
    "quiet, alone",
    "quiet, beside a flood",
    "quiet, beside a flood held to 32 at once",
)
HELD_TO = 32
NOISY = channel_name(0)
TENANTS = 100
BACKLOG = {NOISY: 50_000}  # the others have 1,000 each
SERVED = 30_000  # messages after which turns are counted: all are still backlogged


def run(run: Run) -> None:
    for _ in range(1 if run.quick else min(run.repeat, 2)):
        for name, whos in ((OURS, (ALONE, BESIDE, LIMITED)), (FIFO, (BESIDE,))):
            for who in whos if name in run.peers else ():
                sample(run, name, who)
    for name in run.select_systems((OURS, FIFO)):
        measure_fairness(run, name)
    run.drop_entrants()


def sample(run: Run, name: str, who: str) -> None:
    entries = [
        run.record.entry("noisy", {"who": who, "percentile": share}, name, "ms")
        for share in ("p50", "p99")
    ]
    entrant = run.get_entrant(name, 1, purpose=who)
    if who != ALONE and not entrant.waiting:
        entrant.fill(FLOOD)
    if who == LIMITED:
        with Queue(entrant.dsn) as queue:
            queue.channel_set(NOISY, max_concurrency=HELD_TO)
    waits, unserved = measure_quiet_waits(entrant, 3.0 if run.quick else SECONDS)
    for entry, share in zip(entries, (0.5, 0.99), strict=True):
        entry.samples.append(round(percentile(waits, share), 3))
        entry.details.append({"messages": len(waits), "unserved": unserved})
    run.log(
        f"noisy · {name}, {who}: p50 {entries[0].samples[-1]:.1f} ms, p99 {entries[1].samples[-1]:.1f} ms"
    )


def measure_quiet_waits(entrant: Entrant, seconds: float) -> tuple[list[float], int]:
    """The quiet tenants' waits in ms; a message that was not served counts as waiting the whole time, or longer."""
    group, (workers, slots) = entrant.group, FORMS[entrant.name]
    work = (tasks.listen, (entrant.name, entrant.dsn, WORK_SECONDS, slots))
    quiet = (tasks.produce_slowly, (entrant.name, entrant.dsn, 1, TENANTS - 1, GAP_SECONDS))
    group.start([work] * workers + [quiet])
    time.sleep(seconds)
    group.check(workers + 1)
    *results, created = group.finish(workers + 1)
    entrant.waiting -= sum(len(waits) for waits in results)
    waits = [wait / 1e6 for each in results for channel, wait in each if channel != NOISY]
    unserved = max(0, created - len(waits))
    return waits + [seconds * 1000.0] * unserved, unserved


def measure_fairness(run: Run, name: str) -> None:
    """Jain's index over what each backlogged tenant was given by 4 consumers with batches of 10."""
    entry = run.record.entry(
        "noisy", {"who": "all backlogged", "percentile": "Jain"}, name, "index"
    )
    entrant = run.get_entrant(name, 1, purpose="fairness")
    entrant.group.call(tasks.load_unevenly, name, entrant.dsn, BACKLOG[NOISY], 1_000, TENANTS)
    group = entrant.group
    group.start([(tasks.consume_and_record, (name, entrant.dsn, 10))] * 4)
    deadline = time.monotonic() + 60
    while group.counters.total(range(4)) < SERVED and time.monotonic() < deadline:
        time.sleep(0.002)
    served = Counter(channel for waits in group.finish(4) for channel, _ in waits)
    if not served:
        raise SystemFailed("nothing was served")
    shares = [served[channel_name(number)] for number in range(TENANTS)]
    entry.samples.append(round(jain_index(shares) or 0.0, 5))
    entry.details.append({"served": dict(served)})
    run.log(
        f"noisy · {name}: Jain's index {entry.samples[-1]:.4f} over {TENANTS} backlogged tenants"
    )
