"""What can come of a message that a handler was given: values for the engine, exceptions for handlers to raise."""

from __future__ import annotations

from dataclasses import dataclass

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
from lonnymq.errors import LonnyMQError


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
