"""Channels: what holds for them and how they stand; and the roles that may use some only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

ChannelSetAnswer = Literal["created", "changed", "unchanged"]
PauseAnswer = Literal["paused", "already_paused", "not_found"]
ResumeAnswer = Literal["resumed", "not_paused", "not_found"]
RetireAnswer = Literal["retiring", "already_retiring", "not_found"]
ConfineAnswer = Literal["restricted", "unchanged"]
FreeAnswer = Literal["freed", "not_found"]
ChannelState = Literal["ready", "idle", "scheduled", "saturated", "throttled", "paused", "retiring"]


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
    """One channel in which something goes on; `finished` attempts ended within the last `finished_ms`."""

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
    finished_ms: int
    max_concurrency: int | None
    min_interval_ms: int | None
    burst: int | None
    max_size: int | None
    weight: int
    paused: bool
    retiring: bool
    now_at: int


@dataclass(frozen=True, slots=True)
class Restricted:
    """A role that may use some channels only; `is_known` is False where no role has that name any more."""

    role: str
    channels: Sequence[str] = field(hash=False)
    prefixes: Sequence[str] = field(hash=False)
    is_known: bool
