"""Schedules and their runs, and the workers that see to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

ScheduleSetAnswer = Literal["created", "changed", "unchanged"]
ScheduleDeleteAnswer = Literal["deleted", "not_found"]
Misfire = Literal["skip", "once", "all"]
WorkerSeenAnswer = Literal["started", "seen"]
WorkerGoneAnswer = Literal["gone", "not_found"]


@dataclass(frozen=True, slots=True)
class Schedule:
    """One schedule as it stands: dealt with up to `last_run_at`, next at `next_at` (None: no worker has looked yet).

    `message_id` and `answer` say what became of its last run; `now_at` is the database's time.
    """

    name: str
    cron: str | None
    every_ms: int | None
    timezone: str
    channel: str
    kind: str | None
    headers: Mapping[str, Any] | None = field(hash=False)
    content: bytes
    misfire: Misfire
    paused: bool
    last_run_at: int
    next_at: int | None
    message_id: int | None
    answer: str | None
    set_at: int
    version: int
    now_at: int


@dataclass(frozen=True, slots=True)
class Ticked:
    """What became of runs that had come: `behind` if another worker dealt with them, or the schedule changed."""

    answer: Literal["advanced", "behind", "paused", "not_found"]
    created: int


@dataclass(frozen=True, slots=True)
class ScheduleRan:
    """What became of a schedule's message that was wanted now."""

    answer: Literal["created", "dropped", "rejected", "not_found"]
    id: int | None


@dataclass(frozen=True, slots=True)
class WorkerSeen:
    """One worker that said that it is there; `about` is what it says of itself: host, process, kinds."""

    name: str
    alive: bool
    stopping: bool
    concurrency: int
    running: int
    started_at: int
    seen_at: int
    about: Mapping[str, Any] = field(hash=False)
    now_at: int
