"""Actions on channels: pause, resume, set limits, purge."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from lonnymq.client import calls
from lonnymq.dashboard.actions import ActionBody, ActionResult, Preview, format_messages
from lonnymq.dashboard.errors import invalid, not_found
from lonnymq.dashboard.queues import QueueTransaction, Row
from lonnymq.dashboard.request import Body, MessageId, Text, parse_id

MAX_PURGED = 10_000
MAX_VALUE_LENGTH = 60


class ChannelBody(ActionBody):
    """The channel to act on."""

    channel: Text

    async def find_channels(self, _: QueueTransaction) -> list[str]:
        """The channel."""
        return [self.channel]

    @property
    def subject(self) -> str:
        """The subject for the audit log."""
        return self.channel


class PurgeBody(ChannelBody):
    """The channel, and the last message that the preview showed."""

    last_id: MessageId | None = None


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


class LimitsBody(ChannelBody):
    """The channel, and the settings to change."""

    options: ChannelOptions

    def changes(self) -> dict[str, Any]:
        """The settings to change."""
        options: dict[str, Any] = msgspec.to_builtins(self.options)
        if not options:
            raise invalid("'options' is empty: name at least one setting to change.")
        return options


async def preview_pause(transaction: QueueTransaction, body: ChannelBody) -> Preview:
    """Count the messages that will be held back."""
    row = await read_channel(transaction, body.channel)
    return Preview(
        f"Workers will not get {format_messages(row['waiting'], 'waiting')} until you resume the channel. "
        f"{format_messages(row['leased'], 'running')} will finish.",
        row["waiting"],
        at_least=not row["counted_exactly"],
        warning="The channel is already paused." if row["paused"] else None,
    )


async def preview_resume(transaction: QueueTransaction, body: ChannelBody) -> Preview:
    """Count the messages that workers can get again."""
    row = await read_channel(transaction, body.channel)
    return Preview(
        f"Workers will get {format_messages(row['waiting'], 'waiting')} of the channel again.",
        row["waiting"],
        at_least=not row["counted_exactly"],
        warning=None if row["paused"] else "The channel is not paused.",
    )


async def preview_limits(transaction: QueueTransaction, body: LimitsBody) -> Preview:
    """List the changes, and warn about a limit that is below the number of running messages."""
    options = body.changes()
    row = await read_channel(transaction, body.channel)
    await transaction.call(calls.channel_set, body.channel, options)
    changes = [
        f"{name} from {format_value(row[name])} to {format_value(value)}"
        for name, value in options.items()
        if row[name] != value
    ]
    limit, running, warning = options.get("max_concurrency"), row["in_flight"], None
    if isinstance(limit, int) and limit < running:
        warning = f"{running} messages are running. No message starts until fewer than {limit} are running."
    message = f"Change {', '.join(changes)}." if changes else "Nothing will change."
    return Preview(message, len(changes), warning=warning)


async def set_limits(transaction: QueueTransaction, body: LimitsBody) -> ActionResult:
    """Change the limits."""
    options = body.changes()
    row = await read_channel(transaction, body.channel)
    answer = await transaction.call(calls.channel_set, body.channel, options)
    before = {name: row[name] for name in options}
    parameters = {"options": options, "before": before}
    return ActionResult("The limits are changed.", answer, body.channel, parameters=parameters)


async def preview_purge(transaction: QueueTransaction, body: PurgeBody) -> Preview:
    """Count the messages that will be deleted."""
    row = await read_channel(transaction, body.channel)
    (figures,) = await transaction.rows(calls.queue_metrics)
    count = row["waiting"] + row["scheduled"]
    return Preview(
        f"{format_messages(count, 'waiting')} of the channel will be deleted, including scheduled messages. "
        f"{format_messages(row['leased'], 'running')} will finish.",
        count,
        at_least=not row["counted_exactly"],
        warning="You cannot undo this.",
        bound={"last_id": str(figures["last_id"])},
    )


async def purge(transaction: QueueTransaction, body: PurgeBody) -> ActionResult:
    """Delete up to ten thousand of the messages."""
    last_id = None if body.last_id is None else parse_id(body.last_id, "last_id")
    count = await transaction.call(
        calls.message_purge, body.channel, limit=MAX_PURGED, last_id=last_id
    )
    message = f"{format_messages(count)} deleted."
    parameters = {} if last_id is None else {"last_id": str(last_id)}
    more = count == MAX_PURGED
    return ActionResult(message, "purged", body.channel, count, more=more, parameters=parameters)


async def read_channel(transaction: QueueTransaction, name: str) -> Row:
    """The channel to act on."""
    rows = await transaction.rows(calls.channel_stats, name)
    if not rows:
        raise not_found("This channel does not exist.")
    return rows[0]


def format_value(value: Any) -> str:
    """A limit in words."""
    return "none" if value is None else str(value)[:MAX_VALUE_LENGTH]
