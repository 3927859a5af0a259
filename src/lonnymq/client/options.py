"""The options of channels and queue as keywords that type checkers know; SQL judges their values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypedDict

from lonnymq.client.arguments import Duration


class ChannelOptions(TypedDict, total=False):
    """A channel's policy: only what is given changes; None is no limit, or the default."""

    max_concurrency: int | None
    min_interval_ms: Duration | None
    burst: int | None
    max_size: int | None
    when_full: Literal["reject", "drop"] | None
    weight: int | None
    max_attempts: int | None
    retry_delays_ms: Sequence[Duration] | None
    retry_jitter: float | None


class QueueOptions(TypedDict, total=False):
    """The queue's policy, and that of channels which are made by their first message."""

    max_concurrency: int | None
    history: Literal["off", "outcomes", "content"]
    history_keep_ms: Duration | None
    channel_idle_ms: Duration
    default_max_concurrency: int | None
    default_min_interval_ms: Duration | None
    default_burst: int | None
    default_max_size: int | None
    default_when_full: Literal["reject", "drop"] | None
    default_weight: int | None
    default_max_attempts: int | None
    default_retry_delays_ms: Sequence[Duration] | None
    default_retry_jitter: float | None
