"""Actions on messages: cancel a message, redrive dead messages, purge dead messages."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Annotated, Any

from msgspec import UNSET, Meta, UnsetType

from lonnymq.client import NewMessage, calls
from lonnymq.dashboard.actions import (
    ActionBody,
    ActionResult,
    Preview,
    format_messages,
    require_found,
)
from lonnymq.dashboard.api.content import parse_json, summarize_error
from lonnymq.dashboard.errors import ApiError, invalid, not_found
from lonnymq.dashboard.queues import QueueTransaction, Row
from lonnymq.dashboard.request import MAX_ID, MessageId, Text, parse_id
from lonnymq.results import Created, Duplicate

BATCH = 1000
MAX_COUNTED = 10_000
MAX_SEARCHES = 20  # of ten thousand dead messages each
NOT_CANCELLED = {
    "busy": "Another transaction is changing the message.",
    "dead": "The message is dead. You can purge dead messages on the Dead page.",
}


class MessageBody(ActionBody):
    """The message to act on."""

    id: MessageId

    async def find_channels(self, transaction: QueueTransaction) -> list[str]:
        """The channel of the message."""
        return await find_channels(transaction, [parse_id(self.id)])


async def find_channels(transaction: QueueTransaction, ids: list[int]) -> list[str]:
    """The channels of messages. A message that does not exist has none."""
    rows = await transaction.rows(calls.message_status_many, ids)
    return sorted({each["channel"] for each in rows if each["channel"] is not None})


async def preview_cancel(transaction: QueueTransaction, body: MessageBody) -> Preview:
    """Name the message that will be deleted."""
    message_id = parse_id(body.id)
    rows = await transaction.rows(calls.message_show, message_id, head_bytes=0)
    if not rows:
        raise not_found(f"Message {message_id} is not in the queue.")
    warning = None
    if rows[0]["leased"]:
        warning = (
            "A worker is running the message. An async handler is cancelled by the next heartbeat."
        )
    elif rows[0]["died_at"] is not None:
        warning = NOT_CANCELLED["dead"]
    return Preview(f"Message {message_id} will be deleted. No worker will get it.", warning=warning)


async def cancel(transaction: QueueTransaction, body: MessageBody) -> ActionResult:
    """Cancel a message, waiting or running."""
    message_id = parse_id(body.id)
    rows = await transaction.rows(calls.message_show, message_id, head_bytes=0)
    answer = await transaction.call(calls.message_cancel, message_id)
    require_found(answer)
    if answer != "cancelled":
        raise ApiError("conflict", NOT_CANCELLED[answer], advice="Load the message again.")
    known = {name: rows[0][name] for name in ("channel", "kind", "key")} if rows else {}
    done = f"Message {message_id} is cancelled."
    return ActionResult(done, answer, str(message_id), parameters=known)


class MessagesBody(ActionBody):
    """The messages to act on."""

    ids: Annotated[list[MessageId], Meta(min_length=1, max_length=1000)]

    async def find_channels(self, transaction: QueueTransaction) -> list[str]:
        """The channels of the messages."""
        return await find_channels(transaction, [parse_id(each) for each in self.ids])


async def preview_cancel_many(transaction: QueueTransaction, body: MessagesBody) -> Preview:
    """Count the messages by state."""
    ids = [parse_id(each) for each in body.ids]
    rows = await transaction.rows(calls.message_status_many, ids)
    states = Counter(each["state"] for each in rows)
    running = states["running"]
    count = running + states["waiting"] + states["scheduled"] + states["retrying"]
    others = len(ids) - count
    message = f"{format_messages(count)} will be deleted. No worker will get them."
    if others:
        message += f" No longer in the queue: {format_messages(others)}."
    warning = f"Workers are running {format_messages(running)}." if running else None
    return Preview(message, count, warning=warning)


async def cancel_many(transaction: QueueTransaction, body: MessagesBody) -> ActionResult:
    """Cancel messages, waiting or running."""
    ids = [parse_id(each) for each in body.ids]
    answers = await transaction.call(calls.message_cancel_many, ids)
    done = [str(each.id) for each in answers if each.answer == "cancelled"]
    message = f"{format_messages(len(done))} cancelled."
    if len(done) < len(ids):
        message += f" Not cancelled: {format_messages(len(ids) - len(done))}."
    return ActionResult(message, "cancelled", "messages", len(done), parameters={"ids": done})


class EditBody(MessageBody):
    """The dead message, and the content of the message that replaces it."""

    content: Text


async def preview_edit(transaction: QueueTransaction, body: EditBody) -> Preview:
    """Say what is replaced."""
    row = await read_dead(transaction, body)
    size = len(body.content.encode())
    return Preview(
        f"A message with the new content ({size:,} bytes) will be created in channel '{row['channel']}', due now, "
        f"with all attempts left. Dead message {row['id']} will be deleted.",
        warning="The state of the deferred message will be lost." if row["state"] else None,
    )


async def edit_dead(transaction: QueueTransaction, body: EditBody) -> ActionResult:
    """Create the new message and delete the dead message, in one transaction."""
    row = await read_dead(transaction, body)
    new = NewMessage(
        body.content.encode(),
        channel=row["channel"],
        kind=row["kind"],
        key=row["key"],
        headers=parse_json(row["headers"]),
    )
    created = await transaction.call(calls.message_create, new)
    if not isinstance(created, Created):
        reason = (
            f"Message {created.id} has the key."
            if isinstance(created, Duplicate)
            else "The channel is full."
        )
        raise ApiError("conflict", reason, advice="The dead message stays.")
    await transaction.call(calls.dead_purge, [row["id"]])
    return ActionResult(
        f"Message {created.id} replaces message {row['id']}.",
        "created",
        str(row["id"]),
        parameters={"channel": row["channel"], "id": str(created.id)},
    )


async def read_dead(transaction: QueueTransaction, body: EditBody) -> Row:
    """The dead message to replace, whose payload the user may see."""
    message_id = parse_id(body.id)
    rows = await transaction.rows(calls.message_show, message_id)
    if not rows or rows[0]["died_at"] is None:
        raise not_found(f"Message {message_id} is not dead.", "Load the page again.")
    if not transaction.shows_payloads(rows[0]["channel"]):
        raise ApiError("forbidden", "You cannot edit a payload that you may not see.")
    return rows[0]


class DeadFilter(ActionBody):
    """The dead messages to act on: by ids, by group, channel and kind, or all.

    `died_before` is the time of the preview: messages that died later stay.
    """

    ids: Annotated[list[MessageId], Meta(min_length=1, max_length=1000)] | UnsetType = UNSET
    group: Text | None = None
    channel: Text | None = None
    kind: Text | None = None
    all: bool = False
    died_before: MessageId | None = None

    async def find_channels(self, transaction: QueueTransaction) -> list[str]:
        """The channels of the ids, or the channel. Without both, `find` leaves out other channels."""
        if self.ids is not UNSET:
            return await find_channels(transaction, [parse_id(each) for each in self.ids])
        return [self.channel] if self.channel else []

    def result(self, message: str, answer: str, count: int, found: FoundDead) -> ActionResult:
        """The result of an action on these messages, with the subject and the filter for the audit log."""
        fields = {
            "group": self.group,
            "channel": self.channel,
            "kind": self.kind,
            "died_before": self.died_before and str(self.died_before),
            "error": found.error,
        }
        parameters: dict[str, Any] = {name: value for name, value in fields.items() if value}
        subject = self.channel or "dead messages"
        if self.ids is not UNSET:
            parameters["ids"] = [str(each) for each in self.ids]
            subject = str(self.ids[0]) if len(self.ids) == 1 else subject
        more = found.has_more and count > 0
        return ActionResult(message, answer, subject, count, more=more, parameters=parameters)

    async def find(self, transaction: QueueTransaction, limit: int) -> FoundDead:
        """The ids of the messages up to a limit, the newest first."""
        if self.ids is UNSET and not (self.group or self.channel or self.kind or self.all):
            raise invalid("Name the dead messages: ids, group, channel, kind or all.")
        if self.ids is not UNSET:
            return await self.find_by_id(transaction, limit)
        until = MAX_ID if self.died_before is None else parse_id(self.died_before, "died_before")
        found, before = FoundDead([]), MAX_ID
        for _ in range(MAX_SEARCHES):
            rows = await transaction.rows(
                calls.dead_match,
                self.group or None,
                channel=self.channel or None,
                kind=self.kind or None,
                before=before,
                limit=limit - len(found.ids),
                head_bytes=0,
            )
            for each in rows:
                if each["id"] is None or not transaction.allows(each["channel"]):
                    continue
                if each["died_at"] <= until:
                    found.ids.append(each["id"])
                    found.error = found.error or summarize_error(each["error"])
            if rows[0]["upto"] is None:
                return found
            if len(found.ids) >= limit:
                break
            before = rows[0]["upto"]
        found.has_more = True
        return found

    async def find_by_id(self, transaction: QueueTransaction, limit: int) -> FoundDead:
        """The messages with the given ids, and the error of the first."""
        assert self.ids is not UNSET  # noqa: S101 - the caller knows
        ids = [parse_id(each) for each in self.ids]
        rows = await transaction.rows(calls.message_show, ids[0], head_bytes=0)
        error = summarize_error(rows[0]["error"]) if rows else None
        return FoundDead(ids[:limit], len(ids) > limit, error)


@dataclass(slots=True)
class FoundDead:
    """Dead messages: their ids, whether there are more, and the error of the first."""

    ids: list[int]
    has_more: bool = False
    error: str | None = None


async def preview_redrive(transaction: QueueTransaction, body: DeadFilter) -> Preview:
    """Count the messages that will be queued again."""
    found = await body.find(transaction, MAX_COUNTED)
    return Preview(
        f"{format_messages(len(found.ids))} will be queued again at the old due time, with all attempts left.",
        len(found.ids),
        at_least=found.has_more,
        bound=await bound_to_now(transaction),
    )


async def redrive(transaction: QueueTransaction, body: DeadFilter) -> ActionResult:
    """Queue up to a thousand of the messages again."""
    found = await body.find(transaction, BATCH)
    answers = (
        await transaction.call(calls.dead_redrive, found.ids, limit=BATCH) if found.ids else []
    )
    count = sum(each.answer == "redriven" for each in answers)
    duplicates = sum(each.answer == "duplicate" for each in answers)
    message = f"{format_messages(count)} queued again."
    if duplicates:
        message += f" {format_messages(duplicates)} stay dead: other messages have their keys."
    return body.result(message, "redriven", count, found)


async def preview_purge(transaction: QueueTransaction, body: DeadFilter) -> Preview:
    """Count the messages that will be deleted."""
    found = await body.find(transaction, MAX_COUNTED)
    message, warning = (
        f"{format_messages(len(found.ids))} will be deleted.",
        "You cannot undo this.",
    )
    bound = await bound_to_now(transaction)
    return Preview(message, len(found.ids), at_least=found.has_more, warning=warning, bound=bound)


async def bound_to_now(transaction: QueueTransaction) -> dict[str, str]:
    """What keeps an action from messages that die after its preview."""
    return {"died_before": str(await transaction.call(calls.epoch))}


async def purge(transaction: QueueTransaction, body: DeadFilter) -> ActionResult:
    """Delete up to a thousand of the messages."""
    found = await body.find(transaction, BATCH)
    count = await transaction.call(calls.dead_purge, found.ids, limit=BATCH) if found.ids else 0
    message = f"{format_messages(count)} deleted."
    return body.result(message, "purged", count, found)
