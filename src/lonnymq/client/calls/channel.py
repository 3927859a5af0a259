"""The channel functions: a tenant's policy, pauses, retirement and figures."""

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
    FreeAnswer,
    PauseAnswer,
    Restricted,
    ResumeAnswer,
    RetireAnswer,
)

ACTIVITY = Record(ChannelActivity)


@sql_function(ADMIN, method=False)
def channel_set(channel: Name, options: Json) -> ChannelSetAnswer:
    """Set options of a channel. Options that you do not give stay as they are."""


@sql_function(ADMIN)
def channel_pause(channel: Name) -> PauseAnswer:
    """Stop a channel: no message of the channel is dequeued until you resume the channel."""


@sql_function(ADMIN)
def channel_resume(channel: Name) -> ResumeAnswer:
    """Resume a paused channel."""


@sql_function(ADMIN)
def channel_retire(channel: Name) -> RetireAnswer:
    """Retire a channel: the channel takes no new messages and is removed when the last message is done."""


@sql_function(VIEWER)
def channel_stats(
    channel: Name | None = None, *, after: Text | None = None, limit: Count = 100
) -> list[ChannelStats]:
    """Show the state and the options of a channel, or of all channels page by page, after a name."""


@sql_function(READER)
def channel_policy_list(*, after: Text | None = None, limit: Count = 1000) -> list[ChannelPolicy]:
    """List the default options and then the options of all channels, page by page, after a name."""


@sql_builder(VIEWER)
def channel_active(
    schema: str, channels: Iterable[str] | None = None, *, limit: int = 100, count: int = 1000
) -> Call[list[ChannelActivity]]:
    """List channels with work: up to `limit` of each kind, or the channels that you name."""
    values = (whole("limit", limit), whole("count", count), optional(names, "channels", channels))
    return ACTIVITY.call(schema, "channel_active", "integer integer text[]", values)


@sql_function(EVERYBODY)
def channel_permitted(channel: Name) -> bool:
    """Tell whether the connected login may use a channel: True unless the login is restricted to other channels."""


@sql_function(ADMIN)
def producer_restrict(role: Name, *, channels: Names = (), prefixes: Names = ()) -> ConfineAnswer:
    """Confine a role and its members to some channels: by name, or by the beginning of the name."""


@sql_function(ADMIN)
def producer_unrestrict(role: Name) -> FreeAnswer:
    """Let a role use every channel again."""


@sql_function(VIEWER)
def producer_list() -> list[Restricted]:
    """List the roles that are restricted to some channels."""
