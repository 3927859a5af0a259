"""Actions on messages: cancel a message, redrive dead messages, purge dead messages."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import UNSET, Meta, UnsetType

from lonnymq.client import calls
from lonnymq.dashboard.actions.base import (
    Action,
    ActionContext,
    ActionResult,
    Preview,
    format_messages,
    require_found,
)
from lonnymq.dashboard.errors import ApiError, invalid, not_found
from lonnymq.dashboard.request import MAX_ID, Body, MessageId, Text, parse_id

SHOW = "select * from {schema}.message_show(%(id)s, 0)"
MATCH = """
select m.id, m.upto from {schema}.dead_match(
  %(group)s, %(channel)s, %(kind)s, %(before)s, %(limit)s, 10000, 0) m
"""
BATCH = 1000
MAX_COUNTED = 10_000
MAX_SEARCHES = 20  # of ten thousand dead messages each
NOT_CANCELLED = {
    "leased": "A worker is running the message.",
    "busy": "Another transaction is changing the message.",
    "dead": "The message is dead. You can purge dead messages on the Dead page.",
}


class MessageBody(Body):
    """The message to act on."""

    id: MessageId


class Cancel(Action[MessageBody]):
    """Delete a message that no worker is running."""

    body = MessageBody

    async def preview(self, context: ActionContext, body: MessageBody) -> Preview:
        """Name the message that will be deleted."""
        message_id = parse_id(body.id)
        rows = await context.rows(SHOW, {"id": message_id})
        if not rows:
            raise not_found(f"Message {message_id} is not in the queue.")
        warning = None
        if rows[0]["leased"]:
            warning = "A worker is running the message: you cannot cancel the message now."
        elif rows[0]["died_at"] is not None:
            warning = NOT_CANCELLED["dead"]
        return Preview(
            f"Message {message_id} will be deleted. No worker will get it.", warning=warning
        )

    async def run(self, context: ActionContext, body: MessageBody) -> ActionResult:
        """Delete the message."""
        message_id = parse_id(body.id)
        answer = await context.call(calls.message_cancel(context.schema, message_id))
        require_found(answer)
        if answer != "cancelled":
            advice = "Load the message again."
            raise ApiError("conflict", NOT_CANCELLED[answer], advice=advice)
        return ActionResult(f"Message {message_id} is cancelled.", answer, str(message_id))


class DeadFilter(Body):
    """The dead messages to act on: by ids, by group, channel and kind, or all."""

    ids: Annotated[list[MessageId], Meta(min_length=1, max_length=1000)] | UnsetType = UNSET
    group: Text | None = None
    channel: Text | None = None
    kind: Text | None = None
    all: bool = False

    def check(self) -> None:
        """Reject a filter that names nothing."""
        if self.ids is UNSET and not (self.group or self.channel or self.kind or self.all):
            raise invalid("Name the dead messages: ids, group, channel, kind or all.")

    @property
    def subject(self) -> str:
        """The subject for the audit log."""
        if self.ids is not UNSET and len(self.ids) == 1:
            return str(self.ids[0])
        return self.channel or "dead messages"

    def document(self) -> dict[str, Any]:
        """The filter for the audit log."""
        if self.ids is not UNSET:
            return {"ids": [str(each) for each in self.ids]}
        fields = {"group": self.group, "channel": self.channel, "kind": self.kind}
        return {name: value for name, value in fields.items() if value}

    async def find(self, context: ActionContext, limit: int) -> tuple[list[int], bool]:
        """The ids of the messages up to a limit, and whether there are more."""
        self.check()
        if self.ids is not UNSET:
            ids = [parse_id(each) for each in self.ids]
            return ids[:limit], len(ids) > limit
        found: list[int] = []
        before = MAX_ID
        for _ in range(MAX_SEARCHES):
            parameters = {"group": self.group or None, "channel": self.channel or None,
                          "kind": self.kind or None, "before": before,
                          "limit": limit - len(found)}  # fmt: skip
            rows = await context.rows(MATCH, parameters)
            found += [each["id"] for each in rows if each["id"] is not None]
            if rows[0]["upto"] is None:
                return found, False
            if len(found) >= limit:
                return found, True
            before = rows[0]["upto"]
        return found, True


class Redrive(Action[DeadFilter]):
    """Queue dead messages again."""

    body = DeadFilter

    async def preview(self, context: ActionContext, body: DeadFilter) -> Preview:
        """Count the messages that will be queued again."""
        found, has_more = await body.find(context, MAX_COUNTED)
        return Preview(
            f"{format_messages(len(found))} will be queued again at the old due time, with all attempts left.",
            len(found),
            at_least=has_more,
        )

    async def run(self, context: ActionContext, body: DeadFilter) -> ActionResult:
        """Queue up to a thousand of them."""
        found, has_more = await body.find(context, BATCH)
        answers = []
        if found:
            call = calls.dead_redrive(context.schema, found, channel=None, kind=None, limit=BATCH)
            answers = await context.call(call)
        count = sum(each.answer == "redriven" for each in answers)
        duplicates = sum(each.answer == "duplicate" for each in answers)
        message = f"{format_messages(count)} queued again."
        if duplicates:
            message += f" {format_messages(duplicates)} stay dead: other messages have their keys."
        return ActionResult(
            message, "redriven", body.subject, count,
            more=has_more and count > 0, parameters=body.document(),
        )  # fmt: skip


class PurgeDead(Action[DeadFilter]):
    """Delete dead messages."""

    body = DeadFilter

    async def preview(self, context: ActionContext, body: DeadFilter) -> Preview:
        """Count the messages that will be deleted."""
        found, has_more = await body.find(context, MAX_COUNTED)
        return Preview(
            f"{format_messages(len(found))} will be deleted.",
            len(found),
            at_least=has_more,
            warning="You cannot undo this.",
        )

    async def run(self, context: ActionContext, body: DeadFilter) -> ActionResult:
        """Delete up to a thousand of them."""
        found, has_more = await body.find(context, BATCH)
        count = 0
        if found:
            call = calls.dead_purge(context.schema, found, channel=None, kind=None, limit=BATCH)
            count = await context.call(call)
        return ActionResult(
            f"{format_messages(count)} deleted.", "purged", body.subject, count,
            more=has_more and count > 0, parameters=body.document(),
        )  # fmt: skip
