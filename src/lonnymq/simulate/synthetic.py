"""Synthetic workloads and history from a seed: steady, bursty or daily arrivals, and a noisy tenant.

Here a workload is replayed. Spark generates history at scale without a replay.
"""

from __future__ import annotations

import random
from bisect import bisect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import accumulate
from math import pi, sin
from typing import TYPE_CHECKING, Literal

from lonnymq.errors import InvalidArgument
from lonnymq.results import HistoryRow, Outcome
from lonnymq.simulate.replay import replay
from lonnymq.simulate.ring import Limits
from lonnymq.simulate.workload import Workload

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Arrivals = Literal["steady", "bursts", "daily"]
Service = Literal["fixed", "exponential", "heavy"]
DAY_MS = 86_400_000
BURST = 50
TAIL = 1.5  # of the Pareto distribution: a finite mean, and no finite variance
MOST_DEFERS = 3
EXPIRING = 0.1  # of the attempts that fail: their worker was never heard of again
FIRST_XID = 1000
KINDS = ("transcode", "mail", "invoice", "export")
ERRORS = (
    "TimeoutError: the service did not answer within 30 s",
    "ConnectionError: the service closed the connection",
    "ValueError: the file has no header",
)
EXPIRED = "the lease ran out"
SIZE = 1_000  # bytes, the median
START_AT = 1_700_000_000_000 // DAY_MS * DAY_MS  # a midnight of UTC
EVERY = 20  # of so many attempts the last is a second one of the message before it
DRAWS = 9
# A number from 0 to 1 that depends on the message, the seed and its own number: 53 bits of a hash.
DRAW = "(shiftrightunsigned(xxhash64(message, {seed}L, {number}), 11) / 9007199254740992)"
# Each is made of `id` and of those before it. Arrivals are four times as dense at noon as at midnight.
SPARK_STEPS = {
    "again": "id % {every} = {every} - 1",
    "message": "id - cast(again as bigint)",
    "day": "floor(message * {days} / {rows})",
    "part": "message * {days} / {rows} - day",
    "tenant": "if({draw0} < 0.2, 0, cast(floor(pow({draw1}, 2) * {tenants}) as bigint))",
    "sent": "{start} + cast((day + part + 0.6 * sin(2 * pi() * part) / (2 * pi())) * {day_ms} as bigint)",
    "rush": "(1 - 0.6 * cos(2 * pi() * part)) * if(tenant = 0, 4, 1)",
    "waited": "cast(-ln(1 - {draw2}) * 400 * rush as bigint)",
    "took": "cast(least(60000, 40 / pow(1 - {draw3}, 0.67)) as bigint) + 1",
    "due": "sent + if(again, waited + took + 1000, 0)",
    "deferred": "{draw4} < 0.4",
}
SPARK_COLUMNS = {
    "xid": "id + 1000",
    "message_id": "message + 1",
    "channel": "concat('tenant-', lpad(cast(tenant + 1 as string), {digits}, '0'))",
    "kind": "element_at(array('transcode', 'mail', 'invoice', 'export'), cast({draw5} * 4 as int) + 1)",
    "key": "cast(null as string)",
    "attempt": "if(again and not deferred, 2, 1)",
    "outcome": """case
        when again then if({draw6} < 0.1 and not deferred, 'dead', 'completed')
        when id % {every} <> {every} - 2 or id + 1 = {rows} then 'completed'
        when deferred then 'deferred'
        when {draw4} < 0.9 then 'failed'
        else 'expired' end""",
    "worker": "concat('worker-', lpad(cast(cast({draw7} * 16 as int) + 1 as string), 2, '0'))",
    "dequeue_at": "due",
    "created_at": "timestamp_millis(sent)",
    "dequeued_at": "timestamp_millis(due + waited)",
    "finished_at": "timestamp_millis(due + waited + took)",
    "size": "cast(exp(6 + 2 * {draw8}) as bigint)",
    "error": """case outcome
        when 'failed' then 'TimeoutError: the service did not answer within 30 s'
        when 'dead' then 'ValueError: the file has no header'
        when 'expired' then 'the lease ran out' end""",
    "headers": "cast(null as string)",
    "content": "cast(null as binary)",
}


@dataclass(frozen=True, slots=True)
class WorkloadShape:
    """The shape of a synthetic workload. The same shape and seed give the same workload.

    `load` is the share of the time for which so many `workers` would be busy.
    `noisy` is the share of all messages that one tenant sends; the others send alike.
    `failing` is the share of attempts that fail; a message is tried again after `retry_ms`, `max_attempts` times at
    most. `deferring` is the share of attempts that end with a defer, for as long.
    """

    messages: int = 100_000
    tenants: int = 100
    workers: int = 16
    load: float = 0.8
    service_ms: int = 100
    arrivals: Arrivals = "steady"
    service: Service = "exponential"
    noisy: float = 0.0
    failing: float = 0.0
    deferring: float = 0.0
    max_attempts: int = 2
    retry_ms: int = 1000
    start_at: int = 1_700_000_000_000
    seed: int = 1

    def __post_init__(self) -> None:
        for name in ("messages", "tenants", "workers", "service_ms", "max_attempts"):
            least = 0 if name == "messages" else 1
            if getattr(self, name) < least:
                raise InvalidArgument(f"{name} must be at least {least}, not {getattr(self, name)}")
        if not self.load > 0:
            raise InvalidArgument(f"load must be more than 0, not {self.load}")
        for name in ("noisy", "failing", "deferring"):
            if not 0 <= getattr(self, name) <= 1:
                raise InvalidArgument(f"{name} must be from 0 to 1, not {getattr(self, name)}")


def make_workload(shape: WorkloadShape) -> Workload:
    """Generate a workload."""
    return make_attempts(shape).work


@dataclass(slots=True)
class SyntheticAttempts:
    """Synthetic attempts as columns: a workload, and the outcome of each attempt.

    `message` is the number of its message's first attempt.
    """

    names: list[str]
    channel: list[int] = field(default_factory=list)
    created_at: list[int] = field(default_factory=list)
    service_ms: list[int] = field(default_factory=list)
    after: dict[int, tuple[int, int]] = field(default_factory=dict)
    message: list[int] = field(default_factory=list)
    attempt: list[int] = field(default_factory=list)
    outcome: list[Outcome] = field(default_factory=list)

    def add(self, channel: int, created_at: int, service_ms: int) -> None:
        """Add the first attempt of a message."""
        self.message.append(len(self.channel))
        self.channel.append(channel)
        self.created_at.append(created_at)
        self.service_ms.append(service_ms)
        self.attempt.append(1)
        self.outcome.append("completed")

    def follow(self, before: int, gap_ms: int, service_ms: int, attempt: int) -> int:
        """Add an attempt that follows another after a gap; returns its number."""
        number = len(self.channel)
        self.add(self.channel[before], self.created_at[before], service_ms)
        self.after[number] = (before, gap_ms)
        self.message[number], self.attempt[number] = self.message[before], attempt
        return number

    @property
    def work(self) -> Workload:
        """The workload."""
        due_at = list(self.created_at)
        return Workload(
            self.names, self.channel, self.created_at, due_at, self.service_ms, self.after
        )


def make_attempts(shape: WorkloadShape) -> SyntheticAttempts:
    """Generate attempts with their outcomes."""
    rng = random.Random(shape.seed)  # noqa: S311 - the same again is what is wanted
    made, tenants = SyntheticAttempts(tenant_names(shape.tenants)), draw_tenants(shape, rng)
    left = shape.messages
    for moment, many in draw_arrivals(shape, rng):
        tenant, created_at = next(tenants), shape.start_at + round(moment)
        for _ in range(min(many, left)):
            made.add(tenant, created_at, draw_service_time(shape, rng))
        left -= many
        if left <= 0:
            break
    if shape.failing or shape.deferring:
        for number in range(shape.messages):
            add_retries(shape, rng, made, number)
    return made


def add_retries(shape: WorkloadShape, rng: random.Random, made: SyntheticAttempts, at: int) -> None:
    """Add the further attempts of a message that fails or is deferred."""
    attempt, defers = 1, 0
    while True:
        drawn = rng.random()
        if drawn < shape.failing:
            if attempt == shape.max_attempts:
                made.outcome[at] = "dead"
                return
            made.outcome[at] = "expired" if rng.random() < EXPIRING else "failed"
            attempt += 1
        elif drawn < shape.failing + shape.deferring and defers < MOST_DEFERS:
            made.outcome[at] = "deferred"
            defers += 1
        else:
            return
        at = made.follow(at, shape.retry_ms, draw_service_time(shape, rng), attempt)


def tenant_names(count: int) -> list[str]:
    """Names that sort by number; the first is the noisy one."""
    return [f"tenant-{number:0{len(str(count))}}" for number in range(1, count + 1)]


def draw_tenants(shape: WorkloadShape, rng: random.Random) -> Iterator[int]:
    """Draw the sending tenants: the noisy tenant has its share, the others equal parts of the rest."""
    alike = 1 / shape.tenants
    first = max(shape.noisy, alike) if shape.noisy else alike
    rest = (1 - first) / max(1, shape.tenants - 1)
    edges = list(accumulate([first] + [rest] * (shape.tenants - 1)))
    while True:
        yield min(bisect(edges, rng.random() * edges[-1]), shape.tenants - 1)


def draw_arrivals(shape: WorkloadShape, rng: random.Random) -> Iterator[tuple[float, int]]:
    """Draw arrivals: milliseconds from the start, and the number of messages."""
    rate = shape.workers * shape.load / shape.service_ms
    now = 0.0
    while True:
        if shape.arrivals == "bursts":
            now += rng.expovariate(rate / BURST)
            yield now, rng.randrange(1, 2 * BURST)
        elif shape.arrivals == "daily":
            # Twice the rate, of which noon keeps nearly all and midnight next to none.
            now += rng.expovariate(2 * rate)
            if rng.random() < (1 + 0.9 * sin(2 * pi * (now / DAY_MS - 0.25))) / 2:
                yield now, 1
        else:
            now += rng.expovariate(rate)
            yield now, 1


def draw_service_time(shape: WorkloadShape, rng: random.Random) -> int:
    """Draw the service time of a message."""
    if shape.service == "fixed":
        return shape.service_ms
    if shape.service == "heavy":
        return max(1, round(rng.paretovariate(TAIL) * shape.service_ms * (TAIL - 1) / TAIL))
    return max(1, round(rng.expovariate(1 / shape.service_ms)))


def make_history(
    shape: WorkloadShape,
    *,
    workers: int | None = None,
    limits: Mapping[str, Limits] | None = None,
    default_limits: Limits | None = None,
    max_concurrency: int | None = None,
) -> list[HistoryRow]:
    """Synthetic history in the order in which attempts ended: a workload, replayed with workers and limits."""
    made = make_attempts(shape)
    work = made.work
    went = replay(
        work, limits or {}, workers=workers or shape.workers, max_concurrency=max_concurrency,
        default_limits=default_limits,
    )  # fmt: skip
    started = went.started_at
    ended = [at + service for at, service in zip(started, work.service_ms, strict=True)]
    by = assign_workers(started, ended)
    rng = random.Random(shape.seed + 1)  # noqa: S311 - the same again is what is wanted
    about = [(rng.choice(KINDS), round(rng.lognormvariate(0, 1) * SIZE)) for _ in started]
    return [
        HistoryRow(
            xid=xid, message_id=made.message[at] + 1, channel=work.names[work.channel[at]],
            kind=about[made.message[at]][0], key=None, attempt=made.attempt[at],
            worker=f"worker-{by[at] + 1:02}", outcome=made.outcome[at],
            created_at=work.created_at[at], dequeue_at=went.due_at[at], dequeued_at=started[at],
            finished_at=ended[at], size=about[made.message[at]][1],
            error=draw_error(made.outcome[at], rng), headers=None, content=None,
        )
        for xid, at in enumerate(sorted(range(len(work)), key=ended.__getitem__), FIRST_XID)
    ]  # fmt: skip


def draw_error(outcome: Outcome, rng: random.Random) -> str | None:
    """Draw the error of a failed attempt."""
    if outcome == "expired":
        return EXPIRED
    return rng.choice(ERRORS) if outcome in ("failed", "dead") else None


def assign_workers(started: list[int], ended: list[int]) -> list[int]:
    """The worker of each attempt: the next attempt goes to the worker that is idle for longest."""
    by, hired = [0] * len(started), 0
    until: list[tuple[int, int]] = []  # when each is free, and which it is
    for number in sorted(range(len(started)), key=started.__getitem__):
        if until and until[0][0] <= started[number]:
            by[number] = heappop(until)[1]
        else:
            by[number] = hired
            hired += 1
        heappush(until, (ended[number], by[number]))
    return by


def generate_spark_history(
    spark: SparkSession, rows: int, *, tenants: int = 1000, days: int = 30, seed: int = 1
) -> DataFrame:
    """Rows of history with a daily rhythm and a noisy first tenant.

    The same arguments give the same rows, in any number of partitions. Every twentieth attempt is a second attempt,
    after a deferral, a failure or an expired lease.
    """
    for name, value in (("rows", rows), ("tenants", tenants), ("days", days)):
        if value < 1:
            raise InvalidArgument(f"{name} must be at least 1, not {value}")
    known: dict[str, object] = {
        f"draw{number}": DRAW.format(seed=int(seed), number=number) for number in range(DRAWS)
    }
    known |= {"every": EVERY, "rows": rows, "tenants": tenants, "days": days, "day_ms": DAY_MS}
    known |= {"start": START_AT, "digits": len(str(tenants))}
    frame = spark.range(rows).toDF("id")
    for steps in (SPARK_STEPS, SPARK_COLUMNS):
        for name, expression in steps.items():
            frame = frame.selectExpr("*", f"{expression.format(**known)} as {name}")
    return frame.select(*SPARK_COLUMNS)
