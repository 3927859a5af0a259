"""(e) Noisy neighbour: one tenant with a flood, 99 quiet ones. What they wait, and how even the turns are.

Two workers of ours with their defaults, 32 messages at a time each, or 16 loops on the plain table; a message is 25 to
75 ms of work. The quiet tenants create 100 messages a second between them: alone, and beside a backlog whose end the
workers never see; then the same with the noisy tenant held to half of the places by its `max_concurrency`.
"""

from __future__ import annotations

import time
from collections import Counter

from benchmarks import tasks
from benchmarks.processes import Failed
from benchmarks.summary_statistics import jain, percentile
from benchmarks.entrant import Lane
from benchmarks.payload import channel_name
from benchmarks.run import Run
from lonnymq import Queue

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
    for name in run.among((OURS, FIFO)):
        fairness(run, name)
    run.drop_lanes()


def sample(run: Run, name: str, who: str) -> None:
    entries = [
        run.record.entry("noisy", {"who": who, "percentile": share}, name, "ms")
        for share in ("p50", "p99")
    ]
    lane = run.lane(name, 1, purpose=who)
    if who != ALONE and not lane.waiting:
        lane.fill(FLOOD)
    if who == LIMITED:
        with Queue(lane.dsn) as queue:
            queue.channel_set(NOISY, max_concurrency=HELD_TO)
    waits, unserved = quiet_waits(lane, 3.0 if run.quick else SECONDS)
    for entry, share in zip(entries, (0.5, 0.99), strict=True):
        entry.samples.append(round(percentile(waits, share), 3))
        entry.details.append({"messages": len(waits), "unserved": unserved})
    run.say(
        f"noisy · {name}, {who}: p50 {entries[0].samples[-1]:.1f} ms, p99 {entries[1].samples[-1]:.1f} ms"
    )


def quiet_waits(lane: Lane, seconds: float) -> tuple[list[float], int]:
    """The quiet tenants' waits in ms; a message that was not served counts as waiting the whole time, or longer."""
    crew, (workers, slots) = lane.crew, FORMS[lane.name]
    work = (tasks.listen, (lane.name, lane.dsn, WORK_SECONDS, slots))
    trickle = (tasks.trickle, (lane.name, lane.dsn, 1, TENANTS - 1, GAP_SECONDS))
    crew.start([work] * workers + [trickle])
    time.sleep(seconds)
    crew.check(workers + 1)
    *told, created = crew.finish(workers + 1)
    lane.waiting -= sum(len(waits) for waits in told)
    waits = [wait / 1e6 for each in told for channel, wait in each if channel != NOISY]
    unserved = max(0, created - len(waits))
    return waits + [seconds * 1000.0] * unserved, unserved


def fairness(run: Run, name: str) -> None:
    """Jain's index over what each backlogged tenant was given by 4 consumers with batches of 10."""
    entry = run.record.entry(
        "noisy", {"who": "all backlogged", "percentile": "Jain"}, name, "index"
    )
    lane = run.lane(name, 1, purpose="fairness")
    lane.crew.call(tasks.load_unevenly, name, lane.dsn, BACKLOG[NOISY], 1_000, TENANTS)
    crew = lane.crew
    crew.start([(tasks.consume_and_tell, (name, lane.dsn, 10))] * 4)
    deadline = time.monotonic() + 60
    while crew.board.total(range(4)) < SERVED and time.monotonic() < deadline:
        time.sleep(0.002)
    served = Counter(channel for waits in crew.finish(4) for channel, _ in waits)
    if not served:
        raise Failed("nothing was served")
    shares = [served[channel_name(number)] for number in range(TENANTS)]
    entry.samples.append(round(jain(shares), 5))
    entry.details.append({"served": dict(served)})
    run.say(
        f"noisy · {name}: Jain's index {entry.samples[-1]:.4f} over {TENANTS} backlogged tenants"
    )
