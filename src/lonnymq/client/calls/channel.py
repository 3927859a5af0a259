"""The channel functions: a tenant's policy, pauses, retirement and figures."""
# mypy: disable-error-code="empty-body"

from __future__ import annotations

from collections.abc import Iterable

from lonnymq.client.arguments import Count, Json, Name, Names, Text, names, optional
from lonnymq.client.arguments import count as whole
from lonnymq.client.call import Call, Record
from lonnymq.client.describe import ADMIN, EVERYBODY, READER, VIEWER, sql_builder, sql_function
from lonnymq.results import (
    ChannelActivity,
    ChannelPolicy,
    ChannelSetAnswer,
    ChannelStats,
    ConfineAnswer,
    Confined,
    FreeAnswer,
    PauseAnswer,
    ReleaseAnswer,
    ResumeAnswer,
)

ACTIVITY = Record(ChannelActivity)


@sql_function(ADMIN, method=False)
def channel_set(channel: Name, options: Json) -> ChannelSetAnswer:
    """Set a channel's policy; what is not given stays."""


@sql_function(ADMIN)
def channel_pause(channel: Name) -> PauseAnswer:
    """Stop handing out a channel's messages."""


@sql_function(ADMIN)
def channel_resume(channel: Name) -> ResumeAnswer:
    """Hand out a paused channel's messages again."""


@sql_function(ADMIN)
def channel_release(channel: Name) -> ReleaseAnswer:
    """Retire a channel: no new messages, gone when drained."""


@sql_function(VIEWER)
def channel_stats(
    channel: Name | None = None, *, after: Text | None = None, limit: Count = 100
) -> list[ChannelStats]:
    """One channel's figures, or those of all, a page at a time after a name."""


@sql_function(READER)
def channel_policy_list(*, after: Text | None = None, limit: Count = 1000) -> list[ChannelPolicy]:
    """The defaults, then the policies of all channels, a page at a time after a name."""


@sql_builder(VIEWER)
def channel_active(
    schema: str, channels: Iterable[str] | None = None, *, limit: int = 100, count: int = 1000
) -> Call[list[ChannelActivity]]:
    """The channels in which something goes on, up to `limit` of each sort, or those that are named."""
    values = (whole("limit", limit), whole("count", count), optional(names, "channels", channels))
    return ACTIVITY.call(schema, "channel_active", "integer integer text[]", values)


@sql_function(EVERYBODY)
def channel_permitted(channel: Name) -> bool:
    """Whether who is connected may use a channel: True unless it is confined to others."""


@sql_function(ADMIN)
def producer_confine(role: Name, *, channels: Names = (), prefixes: Names = ()) -> ConfineAnswer:
    """Confine a role and its members to these channels, and to those whose names begin so."""


@sql_function(ADMIN)
def producer_free(role: Name) -> FreeAnswer:
    """Let a role use every channel again."""


@sql_function(VIEWER)
def producer_list() -> list[Confined]:
    """The roles that are confined to some channels."""
