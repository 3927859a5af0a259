"""Builder of the dequeue: what it leased, or why it leased nothing and when to look again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic

from lonnymq.calls import check
from lonnymq.calls.call import Call, Row, loads, statement
from lonnymq.results import Batch, Handle

COLUMNS = (
    "r.answer, r.look_at, r.cursor, "
    "r.id, r.token, r.channel, r.content, r.state, r.attempt, r.kind, r.headers::text, r.name, "
    "r.created_at, r.dequeue_at, r.dequeued_at, r.lease_until"
)
HEADERS = 10
DEQUEUED_AT = 14  # in the row of a dequeue that leased nothing: the database's time


@dataclass(frozen=True, slots=True)
class Dequeued(Generic[Handle]):
    """One answer: the batch, and the cursor to hand in next time."""

    batch: Batch[Handle]
    cursor: list[int] | None


def message_dequeue(
    schema: str,
    make: Callable[..., Handle],
    *,
    limit: int,
    lease_ms: check.Duration,
    worker: str | None,
    cursor: list[int] | None,
) -> Call[Dequeued[Handle]]:
    """Lease up to `limit` messages; `make` gets each one's values in LeasedMessage's order."""

    def parse(rows: Sequence[Row]) -> Dequeued[Handle]:
        answer, look_at, position = rows[-1][:3]
        if answer != "leased":
            return Dequeued(Batch((), answer, look_at, rows[-1][DEQUEUED_AT]), position)
        return Dequeued(Batch(tuple(make(*leased(row)) for row in rows)), position)

    values = (
        check.count("limit", limit),
        check.milliseconds("lease_ms", lease_ms),
        check.optional(check.name, "worker", worker),
        cursor,
    )
    return Call(
        statement(schema, "message_dequeue", "integer bigint text bigint[]", COLUMNS), values, parse
    )


def leased(row: Row) -> Sequence[Any]:
    """The values of a LeasedMessage, with its headers read."""
    if row[HEADERS] is None:
        return row[3:]
    return (*row[3:HEADERS], loads(row[HEADERS]), *row[HEADERS + 1 :])
