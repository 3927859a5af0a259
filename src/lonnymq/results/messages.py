"""Messages that nobody works on: waiting, explained, cancelled, dead."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

CancelAnswer = Literal["cancelled", "leased", "busy", "dead", "not_found"]
RedriveAnswer = Literal["redriven", "duplicate", "not_found"]
WaitingBecause = Literal[
    "not_found",
    "dead",
    "leased",
    "scheduled",
    "unfolded",
    "paused",
    "saturated",
    "throttled",
    "queue_saturated",
    "behind",
    "next",
]


@dataclass(frozen=True, slots=True)
class Cancelled:
    """What became of one cancellation of a batch."""

    id: int
    answer: CancelAnswer


@dataclass(frozen=True, slots=True)
class Redriven:
    """What became of one dead message that was to live again."""

    id: int
    answer: RedriveAnswer


@dataclass(frozen=True, slots=True)
class PeekedMessage:
    """One live message, looked at and not taken."""

    id: int
    channel: str
    content: bytes
    state: bytes | None
    attempt: int
    kind: str | None
    headers: Mapping[str, Any] | None = field(hash=False)
    key: str | None
    created_at: int
    dequeue_at: int
    leased: bool
    lease_until: int | None
    worker: str | None
    error: str | None


@dataclass(frozen=True, slots=True)
class DeadMessage:
    """One message that ran out of attempts, kept until it is redriven or purged."""

    id: int
    channel: str
    content: bytes
    state: bytes | None
    attempt: int
    kind: str | None
    headers: Mapping[str, Any] | None = field(hash=False)
    key: str | None
    created_at: int
    dequeue_at: int
    died_at: int
    error: str | None


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a message is not running: a word, the sentence for people, and the figures behind it."""

    answer: WaitingBecause
    explanation: str
    fields: Mapping[str, Any] | None
