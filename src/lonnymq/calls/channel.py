"""Builders of the channel functions: a tenant's limits, pauses, retirement and figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from lonnymq.calls import check
from lonnymq.calls.call import Call, Record, scalar
from lonnymq.results import (
    ChannelActivity,
    ChannelPolicy,
    ChannelSetAnswer,
    ChannelStats,
    PauseAnswer,
    ReleaseAnswer,
    ResumeAnswer,
)

STATS = Record(ChannelStats)
POLICY = Record(ChannelPolicy)
ACTIVITY = Record(ChannelActivity)


def channel_name(channel: object) -> str:
    """A channel's name, checked."""
    return check.name("channel", channel)


def channel_set(schema: str, channel: str, options: Mapping[str, Any]) -> Call[ChannelSetAnswer]:
    """Set a channel's policy; what is not given stays."""
    values = (check.name("channel", channel), check.as_json("options", options))
    return scalar(schema, "channel_set", "text jsonb", values)


def channel_pause(schema: str, channel: str) -> Call[PauseAnswer]:
    """Stop handing out a channel's messages."""
    return scalar(schema, "channel_pause", "text", (check.name("channel", channel),))


def channel_resume(schema: str, channel: str) -> Call[ResumeAnswer]:
    """Hand out a paused channel's messages again."""
    return scalar(schema, "channel_resume", "text", (check.name("channel", channel),))


def channel_release(schema: str, channel: str) -> Call[ReleaseAnswer]:
    """Retire a channel: no new messages, gone when drained."""
    return scalar(schema, "channel_release", "text", (check.name("channel", channel),))


def channel_stats(
    schema: str, channel: str | None, *, after: str | None, limit: int
) -> Call[list[ChannelStats]]:
    """One channel's figures, or those of all in pages by name."""
    values = (
        check.optional(check.name, "channel", channel),
        check.optional(check.text, "after", after),
        check.count("limit", limit),
    )
    return STATS.call(schema, "channel_stats", "text text integer", values)


def channel_policy_list(schema: str, *, after: str | None, limit: int) -> Call[list[ChannelPolicy]]:
    """The defaults, then the policies of all channels, in pages by name."""
    values = (check.optional(check.text, "after", after), check.count("limit", limit))
    return POLICY.call(schema, "channel_policy_list", "text integer", values)


def channel_active(
    schema: str, channels: Iterable[str] | None, *, limit: int, count: int
) -> Call[list[ChannelActivity]]:
    """The channels in which something goes on, or those that are named."""
    named = None if channels is None else [check.name("channel", each) for each in channels]
    values = (check.count("limit", limit), check.count("count", count), named)
    return ACTIVITY.call(schema, "channel_active", "integer integer text[]", values)
