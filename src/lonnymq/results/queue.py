"""The queue as a whole: its figures, what a sweep, a check and a repair found, what is installed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

QueueSetAnswer = Literal["changed", "unchanged"]


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
    """What one sweep put right: leases expired, messages that died of it, idle channels, old partitions."""

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
    """One invariant that `repair` mended."""

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
