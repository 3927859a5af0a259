"""A made-up workload as rows of history: replayed with workers and limits, so that its waits are those of a queue."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from lonnymq.results import HistoryRow, Outcome
from lonnymq.simulate.replay import replay
from lonnymq.simulate.ring import Limits
from lonnymq.simulate.synthetic import Shape, make

if TYPE_CHECKING:
    import pyarrow as pa

FIRST_XID = 1000
KINDS = ("transcode", "mail", "invoice", "export")
ERRORS = (
    "TimeoutError: the service did not answer within 30 s",
    "ConnectionError: the service closed the connection",
    "ValueError: the file has no header",
)
EXPIRED = "the lease ran out"
SIZE = 1_000  # bytes, the median


def history_rows(
    shape: Shape,
    *,
    workers: int | None = None,
    limits: Mapping[str, Limits] | None = None,
    otherwise: Limits | None = None,
    max_concurrency: int | None = None,
) -> list[HistoryRow]:
    """The history of a made-up workload, in the order in which its attempts ended; the same from the same shape."""
    made = make(shape)
    work = made.work
    went = replay(
        work, limits or {}, workers=workers or shape.workers, max_concurrency=max_concurrency,
        otherwise=otherwise,
    )  # fmt: skip
    started = went.started_at
    ended = [at + service for at, service in zip(started, work.service_ms, strict=True)]
    by = hands(started, ended)
    rng = random.Random(shape.seed + 1)  # noqa: S311 - the same again is what is wanted
    about = [(rng.choice(KINDS), round(rng.lognormvariate(0, 1) * SIZE)) for _ in started]
    return [
        HistoryRow(
            xid=xid, message_id=made.message[at] + 1, channel=work.names[work.channel[at]],
            kind=about[made.message[at]][0], name=None, attempt=made.attempt[at],
            worker=f"worker-{by[at] + 1:02}", outcome=made.outcome[at],
            created_at=work.created_at[at], dequeue_at=went.due_at[at], dequeued_at=started[at],
            finished_at=ended[at], size=about[made.message[at]][1],
            error=error_of(made.outcome[at], rng), headers=None, content=None,
        )
        for xid, at in enumerate(sorted(range(len(work)), key=ended.__getitem__), FIRST_XID)
    ]  # fmt: skip


def error_of(outcome: Outcome, rng: random.Random) -> str | None:
    """What went wrong, of an attempt with which something did."""
    if outcome == "expired":
        return EXPIRED
    return rng.choice(ERRORS) if outcome in ("failed", "dead") else None


def hands(started: list[int], ended: list[int]) -> list[int]:
    """Which worker had each attempt, if the one that has been free for longest takes the next."""
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


def history_table(rows: Iterable[HistoryRow]) -> pa.Table:
    """Rows of history in Arrow, in the columns and types in which Spark reads history."""
    import pyarrow as pa

    instant = pa.timestamp("us", tz="UTC")
    types = {
        "xid": pa.int64(), "message_id": pa.int64(), "channel": pa.string(), "kind": pa.string(),
        "name": pa.string(), "attempt": pa.int32(), "outcome": pa.string(), "worker": pa.string(),
        "dequeue_at": pa.int64(), "created_at": instant, "dequeued_at": instant,
        "finished_at": instant, "size": pa.int64(), "error": pa.string(), "headers": pa.string(),
        "content": pa.binary(),
    }  # fmt: skip
    kept = list(rows)
    columns = []
    for name, kind in types.items():
        values = [getattr(row, name) for row in kept]
        if kind == instant:
            values = [value * 1000 for value in values]
        elif name == "headers":
            values = [None if value is None else json.dumps(value) for value in values]
        columns.append(pa.array(values, kind))
    return pa.table(columns, names=list(types))
