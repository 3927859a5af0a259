"""What can become of a message: outcomes, the exceptions that handlers raise, and the SQL call for each outcome.

The worker only reports what happened. `message_fail` in the database decides whether a message is retried or dead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from lonnymq.client import calls
from lonnymq.client.arguments import (
    Bytes,
    Duration,
    Moment,
    milliseconds,
    moment,
    not_both,
    optional,
)
from lonnymq.client.arguments import state as checked_state
from lonnymq.client.call import Call
from lonnymq.client.calls.lease import Settled
from lonnymq.errors import LonnyMQError
from lonnymq.results import LeasedMessage


@dataclass(frozen=True, slots=True)
class Complete:
    """The message is done, with what the handler returned as bytes."""

    result: bytes | None = None


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
    `dead` asks for no further attempt. `max_attempts` is the limit of the handler instead of the channel's.
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
Item = TypeVar("Item")


def settle_call(schema: str, settlements: Sequence[Settlement]) -> Call[Settled]:
    """Build the call that settles messages whose outcomes have one type. The answers keep the order."""
    leases = [(message.id, message.token) for message, _ in settlements]
    outcomes = [outcome for _, outcome in settlements]
    if isinstance(outcomes[0], Complete):
        return calls.message_complete_each(schema, leases, results=column(outcomes, "result"))
    if isinstance(outcomes[0], Defer):
        return calls.message_defer_each(
            schema,
            leases,
            delays_ms=column(outcomes, "delay_ms"),
            states=column(outcomes, "state"),
            dequeue_at=column(outcomes, "dequeue_at"),
        )
    return calls.message_fail_each(
        schema,
        leases,
        errors=column(outcomes, "error"),
        retries_ms=column(outcomes, "retry_ms"),
        dead=column(outcomes, "dead"),
        max_attempts=column(outcomes, "max_attempts"),
    )


def column(outcomes: Sequence[Outcome], field: str) -> list[Any]:
    """One field of all outcomes."""
    return [getattr(outcome, field) for outcome in outcomes]


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
