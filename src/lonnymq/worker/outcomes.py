"""What can come of a message that a handler was given: values for the engine, exceptions for handlers to raise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from lonnymq.calls import Bytes, Call, Duration, Moment, schema_name
from lonnymq.calls.arrays import Identifiers, Tokens
from lonnymq.calls.call import Row, statement
from lonnymq.calls.check import milliseconds, moment, not_both, optional
from lonnymq.calls.check import state as checked_state
from lonnymq.errors import LonnyMQError
from lonnymq.results import LeasedMessage


@dataclass(frozen=True, slots=True)
class Complete:
    """Done."""


@dataclass(frozen=True, slots=True)
class Defer:
    """Not now: again after a while or at a moment, with state kept; no attempt is used up."""

    delay_ms: int | None = None
    dequeue_at: int | None = None
    state: bytes | None = None


@dataclass(frozen=True, slots=True)
class Fail:
    """This attempt failed: again by the channel's back-off or after `retry_ms`, or dead."""

    error: str
    retry_ms: int | None = None
    dead: bool = False


Outcome = Complete | Defer | Fail
COMPLETE = Complete()


def deferred(delay_ms: Duration | None, dequeue_at: Moment | None, state: Bytes | None) -> Defer:
    """A deferral whose values can be stored."""
    not_both("dequeue_at", dequeue_at, "delay_ms", delay_ms)
    return Defer(
        optional(milliseconds, "delay_ms", delay_ms),
        optional(moment, "dequeue_at", dequeue_at),
        optional(checked_state, "state", state),
    )


class RetryAfter(Exception):
    """Raise it to fail this attempt and have the next one after so long, whatever the back-off says."""

    def __init__(self, delay_ms: Duration, reason: str = "") -> None:
        super().__init__(reason)
        self.delay_ms = milliseconds("delay_ms", delay_ms)


class Dead(Exception):
    """Raise it to give a message up for good: no further attempt would end better."""


class LeaseLost(LonnyMQError):
    """The lease ran out and the message is another's now: stop, and undo what can be undone."""


Settlement = tuple[LeasedMessage, Outcome]
DONE = "completed"
Answers = list[tuple[str, int | None]]  # the word, and when the message runs again


def settle(schema: str, settlements: Sequence[Settlement]) -> Call[Answers]:
    """The statement for settlements that are all of one kind; it answers each, in this order."""
    first = settlements[0][1]
    if isinstance(first, Complete):
        return complete(schema, settlements)
    return defer(schema, settlements) if isinstance(first, Defer) else fail(schema, settlements)


def complete(schema: str, settlements: Sequence[Settlement]) -> Call[Answers]:
    """Be done with all of these. Only other answers than that are sent back, with their places: as a rule, none."""
    called = f"{schema_name(schema)}.message_complete(%s::bigint[], %s::uuid[])"
    sql = (
        f"select r.place, r.answer from {called} with ordinality r (id, answer, place) "  # noqa: S608 - schema_name has passed it
        f"where r.answer <> '{DONE}'"
    )
    return Call(sql, pairs(settlements), partial(others, len(settlements)))


def defer(schema: str, settlements: Sequence[Settlement]) -> Call[Answers]:
    """Put all of these back, each for its own time and with its own state."""
    types = "bigint[] uuid[] bigint[] bytea[] bigint[]"
    sql = statement(schema, "message_defer", types, "r.answer, r.dequeue_at")
    outcomes: list[Any] = [outcome for _, outcome in settlements]
    columns = ([getattr(each, name) for each in outcomes] for name in DEFER)
    return Call(sql, (*pairs(settlements), *columns), answers)


def fail(schema: str, settlements: Sequence[Settlement]) -> Call[Answers]:
    """Give up on an attempt of all of these, each for its own reason."""
    types = "bigint[] uuid[] text[] bigint[] boolean[]"
    sql = statement(schema, "message_fail", types, "r.answer, r.dequeue_at")
    outcomes: list[Any] = [outcome for _, outcome in settlements]
    columns = ([getattr(each, name) for each in outcomes] for name in FAIL)
    return Call(sql, (*pairs(settlements), *columns), answers)


DEFER = ("delay_ms", "state", "dequeue_at")
FAIL = ("error", "retry_ms", "dead")


def pairs(settlements: Sequence[Settlement]) -> tuple[Identifiers, Tokens]:
    """Ids and tokens."""
    ids = Identifiers([each.id for each, _ in settlements])
    return ids, Tokens([each.token for each, _ in settlements])


def answers(rows: Sequence[Row]) -> Answers:
    """The answers, in the order of the settlements."""
    return [(row[0], row[1]) for row in rows]


def others(many: int, rows: Sequence[Row]) -> Answers:
    """The answers to so many completions of which these were not done."""
    found: Answers = [(DONE, None)] * many
    for place, word in rows:
        found[place - 1] = (word, None)
    return found


def by_kind(settlements: Sequence[Settlement]) -> list[list[Settlement]]:
    """The settlements, those of one kind together."""
    groups: dict[type, list[Settlement]] = {Complete: [], Fail: [], Defer: []}
    for each in settlements:
        groups[type(each[1])].append(each)
    return [group for group in groups.values() if group]
