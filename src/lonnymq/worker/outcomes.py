"""What can become of a message: outcomes, the exceptions that handlers raise, and the SQL call for each outcome.

The worker only reports what happened. `message_fail` in the database decides whether a message is retried or dead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from lonnymq.client.arguments import (
    Bytes,
    Duration,
    Identifiers,
    Moment,
    Tokens,
    milliseconds,
    moment,
    not_both,
    optional,
)
from lonnymq.client.arguments import state as checked_state
from lonnymq.client.call import Call, Row, schema_name, statement
from lonnymq.errors import LonnyMQError
from lonnymq.results import LeasedMessage


@dataclass(frozen=True, slots=True)
class Complete:
    """The message is done."""


@dataclass(frozen=True, slots=True)
class Defer:
    """The message comes back later with new state. The attempt does not count."""

    delay_ms: int | None = None
    dequeue_at: int | None = None
    state: bytes | None = None


@dataclass(frozen=True, slots=True)
class Fail:
    """This attempt failed.

    `retry_ms` is the delay that the handler wants instead of the channel's back-off.
    `dead` asks for no further attempt. `max_attempts` is the limit of the handler beside the channel's.
    """

    error: str
    retry_ms: int | None = None
    dead: bool = False
    max_attempts: int | None = None


Outcome = Complete | Defer | Fail
COMPLETE = Complete()
OUTCOME_NAMES: dict[type, str] = {Complete: "completed", Defer: "deferred", Fail: "failed"}


def checked_defer(
    delay_ms: Duration | None, dequeue_at: Moment | None, state: Bytes | None
) -> Defer:
    """Return a deferral whose values can be stored."""
    not_both("dequeue_at", dequeue_at, "delay_ms", delay_ms)
    return Defer(
        optional(milliseconds, "delay_ms", delay_ms),
        optional(moment, "dequeue_at", dequeue_at),
        optional(checked_state, "state", state),
    )


class RetryAfter(Exception):
    """Raise RetryAfter to fail this attempt and to choose the delay before the next attempt yourself."""

    def __init__(self, delay_ms: Duration, reason: str = "") -> None:
        super().__init__(reason)
        self.delay_ms = milliseconds("delay_ms", delay_ms)


class Dead(Exception):
    """Raise Dead to give a message up: no further attempt would end better."""


class LeaseLost(LonnyMQError):
    """The lease ran out and another worker may have the message. Stop, and undo the work if you can."""


Settlement = tuple[LeasedMessage, Outcome]
Answers = list[tuple[str, int | None]]  # the answer, and when the message runs again
Item = TypeVar("Item")
COMPLETED = "completed"
DEFER_COLUMNS = ("delay_ms", "state", "dequeue_at")
FAIL_COLUMNS = ("error", "retry_ms", "dead", "max_attempts")


def settle_call(schema: str, settlements: Sequence[Settlement]) -> Call[Answers]:
    """Build the call that settles messages whose outcomes have one type. The answers keep the order."""
    first = settlements[0][1]
    if isinstance(first, Complete):
        return complete_call(schema, settlements)
    if isinstance(first, Defer):
        types = "bigint[] uuid[] bigint[] bytea[] bigint[]"
        return columns_call(schema, "message_defer", types, DEFER_COLUMNS, settlements)
    types = "bigint[] uuid[] text[] bigint[] boolean[] integer[]"
    return columns_call(schema, "message_fail", types, FAIL_COLUMNS, settlements)


def complete_call(schema: str, settlements: Sequence[Settlement]) -> Call[Answers]:
    """Build the call that completes messages. Only answers other than `completed` travel back: usually none."""
    called = f"{schema_name(schema)}.message_complete(%s::bigint[], %s::uuid[])"
    sql = (
        f"select r.place, r.answer from {called} with ordinality r (id, answer, place) "  # noqa: S608 - schema_name has passed it
        f"where r.answer <> '{COMPLETED}'"
    )
    return Call(sql, leases_of(settlements), partial(read_exceptions, len(settlements)))


def columns_call(
    schema: str,
    function: str,
    types: str,
    columns: tuple[str, ...],
    settlements: Sequence[Settlement],
) -> Call[Answers]:
    """Build the call that defers or fails messages, with an array for each field of the outcome."""
    sql = statement(schema, function, types, "r.answer, r.dequeue_at")
    arrays = ([getattr(outcome, name) for _, outcome in settlements] for name in columns)
    return Call(sql, (*leases_of(settlements), *arrays), read_answers)


def leases_of(settlements: Sequence[Settlement]) -> tuple[Identifiers, Tokens]:
    """Return the ids and the tokens."""
    ids = Identifiers([message.id for message, _ in settlements])
    return ids, Tokens([message.token for message, _ in settlements])


def read_answers(rows: Sequence[Row]) -> Answers:
    """Read the answers in the order of the settlements."""
    return [(row[0], row[1]) for row in rows]


def read_exceptions(count: int, rows: Sequence[Row]) -> Answers:
    """Read the answers to a number of completions: `completed`, except where a row says otherwise."""
    found: Answers = [(COMPLETED, None)] * count
    for place, answer in rows:
        found[place - 1] = (answer, None)
    return found


def group_by_outcome(
    items: Sequence[tuple[Item, Outcome]], *, limit: int | None = None
) -> list[list[tuple[Item, Outcome]]]:
    """Group items by the type of their outcome, with at most `limit` items in a group."""
    groups: dict[type, list[tuple[Item, Outcome]]] = {Complete: [], Fail: [], Defer: []}
    for each in items:
        groups[type(each[1])].append(each)
    return [
        group[at : at + (limit or len(group))]
        for group in groups.values()
        for at in range(0, len(group), limit or len(group) or 1)
    ]
