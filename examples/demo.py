"""A tour of the queue on a PostgreSQL of its own: `make demo`. Every number it prints is read from the queue.

A video service has five tenants: one floods the queue, four are quiet, and all are served.
"""

import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import psycopg

import lonnymq
from lonnymq.client import Message
from lonnymq.errors import ChannelFull
from lonnymq.results import Batch, Created, CreateManyResult, HistoryRow

FLOODING = "acme"
QUIET = ["bloom", "cedar", "delta", "ember"]
TENANTS = [FLOODING, *QUIET]
FLOOD, FEW, STRIP, WORKERS = 3_000, 6, 40, 4
LIMITS: dict[str, dict[str, Any]] = {
    "acme": {"max_concurrency": 4},
    "bloom": {"weight": 3},
    "cedar": {"release_interval_ms": 50},
    "delta": {"max_size": 8},
    "ember": {"max_attempts": 3, "retry_delays_ms": [20, 40]},
}
IN_ORDER_OF_ARRIVAL = "select channel from lonnymq.message order by dequeue_at, id"
FUNCTIONS = "select count(*) from pg_proc where pronamespace = 'lonnymq'::regnamespace"
T = TypeVar("T")


@dataclass
class Tour:
    """What the chapters share: the queue, which messages it took in, and since when there are limits."""

    queue: lonnymq.Queue
    dsn: str
    created: set[int] = field(default_factory=set)
    limited_since: int = 0

    def note(self, *results: CreateManyResult) -> Counter[str]:
        """Remember what was created, and count the answers."""
        self.created |= {each.id for each in results if isinstance(each, Created)}
        return Counter(type(each).__name__.lower() for each in results)

    def select(self, query: str) -> list[Any]:
        """The first column of a query: all of the queue can be looked at with SQL."""
        with psycopg.connect(self.dsn) as connection:
            return [row[0] for row in connection.execute(query.encode())]

    def history(self) -> list[HistoryRow]:
        """Every attempt that has ended, in the order of their ends."""
        return sorted(self.queue.history_read(), key=lambda each: each.finished_at)


def main() -> int:
    os.environ.pop("LONNYMQ_DSN", None)  # the tour is not for a server that is in use
    with (
        tempfile.TemporaryDirectory(prefix="lonnymq-demo-") as folder,
        lonnymq.embedded(Path(folder) / "server") as server,
        lonnymq.Queue(server.dsn) as queue,
    ):
        tour = Tour(queue, server.dsn)
        for chapter in CHAPTERS:
            chapter(tour)
        return 0 if reckoning(tour) else 1


# Chapters


def install(tour: Tour) -> None:
    heading("A queue inside PostgreSQL")
    seconds, _ = timed(tour.queue.install)
    [version], [functions] = tour.select("show server_version"), tour.select(FUNCTIONS)
    say(f"PostgreSQL {version}: {functions} functions installed in {seconds:.2f} s")


def create(tour: Tour) -> None:
    heading("Five tenants, one of them in a hurry")
    flood = [f"transcode video {number}".encode() for number in range(FLOOD)]
    seconds, results = timed(lambda: tour.queue.channel(FLOODING).create_many(flood))
    say(f"{FLOODING} creates {len(results):,} messages in one call, in {seconds:.2f} s")
    tour.note(*results)
    for tenant in QUIET:
        tour.note(*tour.queue.channel(tenant).create_many([b"transcode one video"] * FEW))
    for tenant in TENANTS:
        if stats := tour.queue.channel(tenant).stats():
            say(f"{tenant:<8}{stats.waiting:>6,} waiting")


def fair_turns(tour: Tour) -> None:
    heading("Fair turns")
    arrived = tour.select(IN_ORDER_OF_ARRIVAL)
    served: list[str] = []
    while len(served) < STRIP:
        batch = tour.queue.dequeue(limit=len(TENANTS), worker="demo")
        tour.queue.complete_many(batch)
        served += [each.channel for each in batch]
    say(f"{', '.join(f'{tenant[0].upper()} is {tenant}' for tenant in TENANTS)}")
    say(f"arrived  {strip(arrived[:STRIP])}")
    say(f"served   {strip(served)}")
    say(f"the last message of a quiet tenant arrived as number {last_quiet(arrived):,}")
    say(f"it was served as number {last_quiet(served):,}")


def limits(tour: Tour) -> None:
    heading("Limits of each kind")
    for tenant, options in LIMITS.items():
        said = ", ".join(f"{name}={value}" for name, value in options.items())
        say(f"{tenant:<8}{said}: {tour.queue.channel(tenant).set(**options)}")
    tour.limited_since = tour.queue.epoch()
    for tenant in QUIET:
        answers = tour.note(*tour.queue.channel(tenant).create_many([b"make a thumbnail"] * 12))
        say(f"{tenant:<8}creates {answers.total()}: {counts(answers)}")
    overfill(tour, "delta")
    messages = [each for _ in range(6) for each in tour.queue.dequeue(limit=5, worker="demo")]
    say(f"leased   {strip(each.channel for each in messages)}")
    explain_first_waiting(tour, "acme")
    explain_first_waiting(tour, "cedar")
    tour.queue.complete_many(messages)


def overfill(tour: Tour, tenant: str) -> None:
    try:
        tour.note(tour.queue.channel(tenant).create(b"one more"))
    except ChannelFull as refusal:
        say(f"{tenant:<8}creates one more: {type(refusal).__name__}: {refusal}")


def later_first_and_once(tour: Tour) -> None:
    heading("Later, first, and once")
    acme = tour.queue.channel(FLOODING)
    later = acme.create(b"publish the video", delay_ms=2_000)
    urgent = acme.create(b"take a video down", dequeue_at=-1)
    report = acme.create(b"count the views", name="views of today")
    again = acme.create(b"count the views", name="views of today")
    tour.note(later, urgent, report, again)
    assert isinstance(later, Created)
    say(f"delay_ms=2000: {tour.queue.explain(later.id).explanation}")
    first, second, *_ = acme.peek(limit=2)
    say(f"dequeue_at=-1: {first.content!r} stands before {second.content!r}")
    say(f"name='views of today': {report}, then {again}")


def settle(tour: Tour) -> None:
    heading("Defer, fail, die, live again")
    others = [tenant for tenant in TENANTS if tenant != "ember"]
    say(f"paused meanwhile: {', '.join(each for each in others if tour.queue.channel_pause(each))}")
    while rest := tour.queue.dequeue(limit=100, worker="demo"):
        tour.queue.complete_many(rest)
    tour.note(tour.queue.channel("ember").create(b"upload in parts"))
    message = take(tour)
    answer = message.defer(delay_ms=20, state=b"parts 1 to 7 are there")
    say(f"attempt {message.attempt}: {answer}, with state")
    die(tour)
    for each in tour.queue.dead_redrive(channel="ember"):
        say(f"message {each.id:,}: {each.answer}")
    message = take(tour)
    say(f"attempt {message.attempt}: {message.complete()}")
    for tenant in others:
        tour.queue.channel_resume(tenant)


def die(tour: Tour) -> None:
    """Fail the message until it is dead."""
    answer = "retrying"
    while answer == "retrying":
        message = take(tour)
        answer = message.fail(ValueError("the codec is unknown"))
        why = tour.queue.explain(message.id).explanation
        say(f"attempt {message.attempt}, state {message.state!r}, fails: {answer}. {why}")


def drain(tour: Tour) -> None:
    heading(f"{WORKERS} workers drain the rest")
    before = len(tour.history())
    names = [f"worker {number}" for number in range(1, WORKERS + 1)]
    with ThreadPoolExecutor(WORKERS) as pool:
        seconds, _ = timed(lambda: list(pool.map(lambda name: work(tour.queue, name), names)))
    rows = tour.history()[before:]
    say(f"{len(rows):,} messages completed in {seconds:.2f} s, under all limits")
    say(counts(Counter(each.worker or "" for each in rows)))


CHAPTERS: list[Callable[[Tour], None]] = [
    install,
    create,
    fair_turns,
    limits,
    later_first_and_once,
    settle,
    drain,
]


def reckoning(tour: Tour) -> bool:
    """Whether history, which nobody here wrote, agrees that all went as promised."""
    heading("What history says")
    rows = tour.history()
    tabulate(rows)
    kept = [held(sentence, is_so) for sentence, is_so in promises(tour, rows)]
    return all(kept)


def promises(tour: Tour, rows: list[HistoryRow]) -> Iterator[tuple[str, bool]]:
    """What was promised, with what was measured, and whether it was kept."""
    limited = [each for each in rows if each.dequeued_at >= tour.limited_since]
    most, allowed = most_at_once(limited, "acme"), LIMITS["acme"]["max_concurrency"]
    yield f"acme: {allowed} at once allowed, at most {most} were", most <= allowed
    gap, allowed = least_gap(limited, "cedar"), LIMITS["cedar"]["release_interval_ms"]
    yield f"cedar: {allowed} ms between leases, at least {gap} were", gap >= allowed
    early = sum(each.dequeued_at < each.dequeue_at for each in rows)
    yield f"leased before their time: {early}", early == 0
    completed = [each.message_id for each in rows if each.outcome == "completed"]
    lost, twice = tour.created - set(completed), len(completed) - len(set(completed))
    yield (
        f"created {len(tour.created):,}, completed {len(set(completed)):,}, lost {len(lost)}",
        (not lost),
    )
    yield f"completed twice: {twice}", twice == 0
    stats, faults = tour.queue.stats(), tour.queue.check()
    yield (
        f"left in the queue: {stats.waiting + stats.leased + stats.dead}",
        not (stats.waiting + stats.leased + stats.dead),
    )
    yield f"faults that queue_check finds: {len(faults)}", not faults


# Workers


def work(queue: lonnymq.Queue, name: str) -> None:
    """Lease a batch and complete it, until nothing is left."""
    while (batch := queue.dequeue(limit=20, worker=name)) or left_in(queue):
        queue.complete_many(batch)
        if not batch:
            wait(batch)


def take(tour: Tour) -> Message:
    """The next message, once there is one."""
    while not (batch := tour.queue.dequeue(worker="demo")):
        wait(batch)
    return batch[0]


def wait(batch: Batch[Message]) -> None:
    """Sleep as long as an empty batch says, 100 ms at most."""
    rest = batch.look_in_ms
    time.sleep((100 if rest is None else min(rest, 100)) / 1000)


# Figures


def left_in(queue: lonnymq.Queue) -> int:
    """How many messages there are, in whatever state."""
    stats = queue.stats()
    return stats.waiting + stats.leased + stats.dead


def last_quiet(channels: list[str]) -> int:
    """The place of the last message that is not the flooding tenant's."""
    return max(place for place, name in enumerate(channels, 1) if name != FLOODING)


def most_at_once(rows: Iterable[HistoryRow], channel: str) -> int:
    """The highest number of leases that overlap; one that ends when another begins does not."""
    mine = [each for each in rows if each.channel == channel]
    steps = sorted([(e.dequeued_at, 1) for e in mine] + [(e.finished_at, -1) for e in mine])
    most = now = 0
    for _, step in steps:
        now += step
        most = max(most, now)
    return most


def least_gap(rows: Iterable[HistoryRow], channel: str) -> int:
    """The least number of milliseconds between two leases."""
    moments = sorted(each.dequeued_at for each in rows if each.channel == channel)
    return min(later - earlier for earlier, later in pairwise(moments))


def timed(action: Callable[[], T]) -> tuple[float, T]:
    """How many seconds an action took, and what it gave."""
    begin = time.perf_counter()
    given = action()
    return time.perf_counter() - begin, given


# Print


def explain_first_waiting(tour: Tour, tenant: str) -> None:
    waiting = next(each for each in tour.queue.peek(tenant) if not each.leased)
    why = tour.queue.explain(waiting.id)
    say(f"why does message {waiting.id:,} of {tenant} wait? ({why.answer}) {why.explanation}")


def tabulate(rows: list[HistoryRow]) -> None:
    """One line a tenant: its attempts by outcome, and how long its messages waited."""
    outcomes = ["completed", "deferred", "failed", "dead"]
    line = "{:<8}" + "{:>11}" * len(outcomes) + "{:>16}"
    say(line.format("tenant", *outcomes, "median wait, ms"))
    for tenant in TENANTS:
        mine = [each for each in rows if each.channel == tenant]
        found = Counter(each.outcome for each in mine)
        waits = sorted(each.dequeued_at - max(each.dequeue_at, each.created_at) for each in mine)
        cells = [f"{found[outcome]:,}" for outcome in outcomes]  # type: ignore[index]  # a word
        say(line.format(tenant, *cells, f"{waits[len(waits) // 2]:,}"))


def held(sentence: str, is_so: bool) -> bool:
    say(f"{'kept  ' if is_so else 'BROKEN'}  {sentence}")
    return is_so


def strip(channels: Iterable[str]) -> str:
    return " ".join(name[0].upper() for name in channels)


def counts(counted: Mapping[str, int]) -> str:
    return ", ".join(f"{counted[name]:,} {name}" for name in sorted(counted))


def heading(text: str) -> None:
    print(f"\n{text}\n{'-' * len(text)}", flush=True)


def say(text: str) -> None:
    print(f"  {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
