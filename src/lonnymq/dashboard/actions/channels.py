"""Actions on channels: pause, resume, set limits, purge."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from lonnymq.client import calls
from lonnymq.dashboard.actions.base import (
    Action,
    ActionContext,
    ActionResult,
    ChannelBody,
    Preview,
    format_messages,
)
from lonnymq.dashboard.errors import invalid, not_found
from lonnymq.dashboard.queues import Row
from lonnymq.dashboard.request import Body, Text

STATS = "select * from {schema}.channel_stats(%(name)s)"
MAX_PURGED = 10_000
MAX_VALUE_LENGTH = 60


class Pause(Action[ChannelBody]):
    """Stop a channel."""

    body = ChannelBody

    async def preview(self, context: ActionContext, body: ChannelBody) -> Preview:
        """Count the messages that will be held back."""
        row = await read_channel(context, body.channel)
        return Preview(
            f"Workers will not get {format_messages(row['waiting'], 'waiting')} until you resume the channel. "
            f"{format_messages(row['leased'], 'running')} will finish.",
            row["waiting"],
            at_least=not row["counted_exactly"],
            warning="The channel is already paused." if row["paused"] else None,
        )

    async def run(self, context: ActionContext, body: ChannelBody) -> ActionResult:
        """Stop the channel."""
        call = calls.channel_pause(context.schema, body.channel)
        return await context.call_on(body.channel, call, "The channel is paused.")


class Resume(Action[ChannelBody]):
    """Resume a channel."""

    body = ChannelBody

    async def preview(self, context: ActionContext, body: ChannelBody) -> Preview:
        """Count the messages that workers can get again."""
        row = await read_channel(context, body.channel)
        return Preview(
            f"Workers will get {format_messages(row['waiting'], 'waiting')} of the channel again.",
            row["waiting"],
            at_least=not row["counted_exactly"],
            warning=None if row["paused"] else "The channel is not paused.",
        )

    async def run(self, context: ActionContext, body: ChannelBody) -> ActionResult:
        """Resume the channel."""
        call = calls.channel_resume(context.schema, body.channel)
        return await context.call_on(body.channel, call, "The channel is resumed.")


class ChannelOptions(Body):
    """The settings to change. The database checks the values."""

    max_concurrency: int | UnsetType | None = UNSET
    min_interval_ms: int | UnsetType | None = UNSET
    burst: int | UnsetType | None = UNSET
    max_size: int | UnsetType | None = UNSET
    when_full: Literal["reject", "drop"] | UnsetType = UNSET
    weight: int | UnsetType | None = UNSET
    max_attempts: int | UnsetType | None = UNSET
    retry_delays_ms: list[int] | UnsetType | None = UNSET
    retry_jitter: float | UnsetType | None = UNSET


class LimitsBody(Body):
    """The channel, and the settings to change."""

    channel: Text
    options: ChannelOptions

    def changes(self) -> dict[str, Any]:
        """The settings to change."""
        options: dict[str, Any] = msgspec.to_builtins(self.options)
        if not options:
            raise invalid("'options' is empty: name at least one setting to change.")
        return options


class SetLimits(Action[LimitsBody]):
    """Change the limits of a channel."""

    body = LimitsBody
    needs_trial = True  # the database checks the values

    async def preview(self, context: ActionContext, body: LimitsBody) -> Preview:
        """List the changes."""
        options = body.changes()
        row = await read_channel(context, body.channel)
        await context.call(calls.channel_set(context.schema, body.channel, options))
        changes = [
            f"{name} from {format_value(row[name])} to {format_value(value)}"
            for name, value in options.items()
            if row[name] != value
        ]
        return Preview(
            f"Change {', '.join(changes)}." if changes else "Nothing will change.",
            len(changes),
            warning=self.find_warning(row, options),
        )

    def find_warning(self, row: Row, options: dict[str, Any]) -> str | None:
        """Warn about a limit that is below the number of running messages."""
        limit = options.get("max_concurrency")
        if isinstance(limit, int) and limit < row["in_flight"]:
            return f"{row['in_flight']} messages are running. No message starts until fewer than {limit} are running."
        return None

    async def run(self, context: ActionContext, body: LimitsBody) -> ActionResult:
        """Change the limits."""
        options = body.changes()
        answer = await context.call(calls.channel_set(context.schema, body.channel, options))
        message = "The limits are changed."
        return ActionResult(message, answer, body.channel, parameters={"options": options})


class Purge(Action[ChannelBody]):
    """Delete the waiting messages of a channel."""

    body = ChannelBody

    async def preview(self, context: ActionContext, body: ChannelBody) -> Preview:
        """Count the messages that will be deleted."""
        row = await read_channel(context, body.channel)
        count = row["waiting"] + row["scheduled"]
        return Preview(
            f"{format_messages(count, 'waiting')} of the channel will be deleted, including scheduled messages. "
            f"{format_messages(row['leased'], 'running')} will finish.",
            count,
            at_least=not row["counted_exactly"],
            warning="You cannot undo this.",
        )

    async def run(self, context: ActionContext, body: ChannelBody) -> ActionResult:
        """Delete up to ten thousand of them."""
        call = calls.message_purge(context.schema, body.channel, limit=MAX_PURGED)
        count = await context.call(call)
        message = f"{format_messages(count)} deleted."
        return ActionResult(message, "purged", body.channel, count, more=count == MAX_PURGED)


async def read_channel(context: ActionContext, name: str) -> Row:
    """The channel to act on."""
    rows = await context.rows(STATS, {"name": name})
    if not rows:
        raise not_found("This channel does not exist.")
    return rows[0]


def format_value(value: Any) -> str:
    """A limit in words."""
    return "none" if value is None else str(value)[:MAX_VALUE_LENGTH]
