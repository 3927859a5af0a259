"""The queue as a whole, its channels, its schedules and its workers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

QueueSetAnswer = Literal["changed", "unchanged"]
ChannelSetAnswer = Literal["created", "changed", "unchanged"]
PauseAnswer = Literal["paused", "already_paused", "not_found"]
ResumeAnswer = Literal["resumed", "not_paused", "not_found"]
RetireAnswer = Literal["retiring", "already_retiring", "not_found"]
RestrictAnswer = Literal["restricted", "unchanged"]
UnrestrictAnswer = Literal["unrestricted", "not_found"]
ChannelState = Literal["ready", "idle", "scheduled", "saturated", "throttled", "paused", "retiring"]
AttentionReason = Literal[
    "no_workers", "failing", "dying", "paused", "saturated", "throttled", "old"
]
ScheduleSetAnswer = Literal["created", "changed", "unchanged"]
ScheduleDeleteAnswer = Literal["deleted", "not_found"]
Misfire = Literal["skip", "once", "all"]
WorkerSeenAnswer = Literal["started", "seen"]
WorkerGoneAnswer = Literal["gone", "not_found"]


@dataclass(frozen=True, slots=True)
class QueueStats:
    """The whole queue as it is now."""

    channels: int
    ready: int
    waiting: int
    leased: int
    dead: int
    notes: int
    in_flight: int
    max_concurrency: int | None
    history: Literal["off", "outcomes", "content"]
    history_keep_ms: int | None
    oldest_ready_at: int | None
    next_at: int | None
    now_at: int
    estimated: bool


@dataclass(frozen=True, slots=True)
class MaintenanceResult:
    """What maintenance did: expired leases, messages that died, removed idle channels, dropped partitions."""

    expired: int
    died: int
    forgotten: int
    partitions_dropped: int


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken invariant that `check` found; none means healthy."""

    invariant: str
    channel: str | None
    message_id: int | None
    detail: str


@dataclass(frozen=True, slots=True)
class Repair:
    """A broken invariant that `repair` has repaired."""

    invariant: str
    channel: str | None
    detail: str


@dataclass(frozen=True, slots=True)
class Installed:
    """Which version of the library installed the queue, up to which migration, and whether with roles."""

    library_version: str
    library_rank: Sequence[int] = field(hash=False)
    functions_checksum: str
    installed_at: datetime
    migration: int
    roles: bool


@dataclass(frozen=True, slots=True)
class ChannelPolicy:
    """What holds for a channel; the one without a name is the queue's default."""

    channel: str
    max_concurrency: int | None
    min_interval_ms: int | None
    burst: int
    max_size: int | None
    when_full: Literal["reject", "drop"]
    weight: int
    max_attempts: int
    paused: bool


@dataclass(frozen=True, slots=True)
class ChannelStats:
    """One channel as it is now, with its policy; counts stop at 10,000 and then `counted_exactly` is false."""

    channel: str
    state: ChannelState
    waiting: int
    scheduled: int
    leased: int
    dead: int
    oldest_at: int | None
    next_at: int | None
    in_flight: int
    size: int
    counted_exactly: bool
    max_concurrency: int | None
    min_interval_ms: int | None
    burst: int | None
    max_size: int | None
    when_full: Literal["reject", "drop"]
    weight: int
    max_attempts: int | None
    retry_delays_ms: list[int] | None
    retry_jitter: float | None
    paused: bool
    retiring: bool


@dataclass(frozen=True, slots=True)
class ChannelActivity:
    """One channel in which something goes on.

    `finished` attempts ended within the last `finished_ms`, of which `completed` completed. `ended` is of all channels.
    `recent_completed` and `recent_failed` are of the last 5 to 10 minutes.
    """

    channel: str
    state: ChannelState
    waiting: int
    scheduled: int
    leased: int
    counted_exactly: bool
    waiting_since: int | None
    next_at: int | None
    in_flight: int
    finished: int | None
    completed: int | None
    ended: int | None
    finished_ms: int
    recent_completed: int | None
    recent_failed: int | None
    max_concurrency: int | None
    min_interval_ms: int | None
    burst: int | None
    max_size: int | None
    weight: int
    paused: bool
    retiring: bool
    now_at: int


@dataclass(frozen=True, slots=True)
class AttemptStats:
    """The outcomes and durations of the attempts of a channel or a kind."""

    name: str
    completed: int
    failed: int
    deferred: int
    expired: int
    died: int
    wait_mean_ms: int
    wait_p50_ms: int | None
    wait_p95_ms: int | None
    wait_p99_ms: int | None
    run_mean_ms: int
    run_p50_ms: int | None
    run_p95_ms: int | None
    run_p99_ms: int | None
    now_at: int


@dataclass(frozen=True, slots=True)
class Attention:
    """Something that needs attention. `channel` is None for the whole queue."""

    reason: AttentionReason
    channel: str | None
    figure: int | None
    total: int | None
    since_at: int | None
    explanation: str
    advice: str
    now_at: int


@dataclass(frozen=True, slots=True)
class Restricted:
    """A role that may use some channels only; `is_known` is False where no role has that name any more."""

    role: str
    channels: Sequence[str] = field(hash=False)
    prefixes: Sequence[str] = field(hash=False)
    is_known: bool


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
class ScheduleAdvanced:
    """What became of runs that had come: `behind` if another worker dealt with them, or the schedule changed."""

    answer: Literal["advanced", "behind", "paused", "not_found"]
    created: int


@dataclass(frozen=True, slots=True)
class ScheduleRan:
    """What became of a schedule's message that was wanted now."""

    answer: Literal["created", "dropped", "rejected", "not_found"]
    id: int | None


@dataclass(frozen=True, slots=True)
class KindServed:
    """A kind of live messages: how many wait, since when, and how many active workers take the kind.

    `kind` is None for messages without a kind. `waiting` and `oldest_at` are read from up to `most` messages.
    """

    kind: str | None
    waiting: int
    oldest_at: int | None
    workers: int
    now_at: int


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
