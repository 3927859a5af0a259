"""Finished attempts, how far they can be read, and who reads them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, Literal

Position = Annotated[int, "xid8"]  # of history: a transaction id
ConfirmAnswer = Literal["confirmed", "behind"]
HistoryResumeAnswer = Literal["continue", "rewind", "unknown"]
ForgetAnswer = Literal["forgotten", "not_found"]
Outcome = Literal["completed", "deferred", "failed", "expired", "dead", "cancelled", "lapsed"]


@dataclass(frozen=True, slots=True)
class Horizon:
    """How far history can be read now: up to `upto` for about the rows asked for, never past `horizon`."""

    upto: Position
    rows: int
    horizon: Position


@dataclass(frozen=True, slots=True)
class HistoryPart:
    """A part of settled history: the positions from `since` up to `upto`, which is not included."""

    since: Position
    upto: Position


@dataclass(frozen=True, slots=True)
class HistoryResume:
    """Where a reader goes on: `continue` at `since`, or `rewind`: drop all from `since` on and read it again.

    `unknown`: the reader has never confirmed anything, or was forgotten. Then `since` is where it said it was, or 0 if
    the database has not come that far.
    """

    answer: HistoryResumeAnswer
    since: Position


@dataclass(frozen=True, slots=True)
class HistoryReader:
    """Who reads history, and up to which position it is safe there."""

    name: str
    confirmed: Position
    confirmed_at: int


@dataclass(frozen=True, slots=True)
class HistoryLag:
    """How far a reader of history is behind: `ready` rows can be read now, `held` wait for open transactions.

    With `is_held`, a transaction that has written is open; the holder is the oldest of them, as far as one may see it:
    a session by its pid, or a prepared transaction by its name.
    """

    horizon: Position
    next_xid: Position
    ready: int
    held: int
    counted_exactly: bool
    first_xid: Position | None
    first_at: int | None
    now_at: int
    is_held: bool
    holder_pid: int | None
    holder_prepared: str | None
    holder_application: str | None
    holder_user: str | None
    holder_database: str | None
    holder_state: str | None
    holder_since: datetime | None


@dataclass(frozen=True, slots=True)
class HistoryRow:
    """One attempt that ended, as analytics reads it."""

    xid: Position
    message_id: int
    channel: str
    kind: str | None
    key: str | None
    attempt: int
    worker: str | None
    outcome: Outcome
    created_at: int
    dequeue_at: int
    dequeued_at: int
    finished_at: int
    size: int
    error: str | None
    headers: Mapping[str, Any] | None = field(hash=False)
    content: bytes | None
