"""Builders of the message functions that need no lease: create, cancel, purge, peek, explain."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lonnymq.calls import check
from lonnymq.calls.call import Call, Record, Row, loads, scalar, statement
from lonnymq.calls.new_message import NewMessage, checked, columns
from lonnymq.errors import ChannelFull, ChannelReleasing
from lonnymq.results import (
    CancelAnswer,
    Cancelled,
    Created,
    CreateManyResult,
    CreateResult,
    Dropped,
    Duplicate,
    Explanation,
    PeekedMessage,
    Refused,
)

CREATED = "r.answer, r.id, r.reason, r.size, r.max_size"
CREATE_TYPES = "text bytea bigint bigint text text jsonb"
CREATE_MANY_TYPES = "text[] bytea[] bigint[] bigint[] text[] text[] jsonb[]"
CANCELLED = Record(Cancelled)
PEEKED = Record(PeekedMessage, headers=loads)
EXPLAINED = Record(Explanation, fields=loads)


def creation(row: Row) -> CreateManyResult:
    """What became of one new message."""
    answer, message_id, reason, size, max_size = row
    if answer == "created":
        return Created(message_id)
    if answer == "duplicate":
        return Duplicate(message_id)
    return (Dropped if answer == "dropped" else Refused)(reason, size, max_size)


def unrefused(channel: str, result: CreateManyResult) -> CreateResult:
    """The result, unless it is a refusal: that is raised."""
    if not isinstance(result, Refused):
        return result
    if result.reason == "releasing":
        raise ChannelReleasing(channel)
    raise ChannelFull(channel, size=result.size, max_size=result.max_size)


def message_create(schema: str, message: NewMessage) -> Call[CreateResult]:
    """Append one message; a refusal is raised."""
    values = checked(message)

    def parse(rows: Sequence[Row]) -> CreateResult:
        return unrefused(values.channel, creation(rows[0]))

    return Call(statement(schema, "message_create", CREATE_TYPES, CREATED), tuple(values), parse)


def message_create_many(
    schema: str, messages: Iterable[check.Bytes | NewMessage], *, channel: str | None
) -> Call[list[CreateManyResult]]:
    """Append many messages, in the order given; refusals are among the results."""
    values = columns(messages, channel=channel)
    sql = statement(schema, "message_create_many", CREATE_MANY_TYPES, CREATED)
    return Call(f"{sql} order by r.ordinal", values, lambda found: list(map(creation, found)))


def message_announce(schema: str, channels: Iterable[str]) -> Call[int]:
    """Tell the engine of messages that COPY put in, in the same transaction."""
    return scalar(schema, "message_announce", "text[]", (sorted(set(channels)),))


def message_cancel(schema: str, message_id: int) -> Call[CancelAnswer]:
    """Delete one message that nobody is working on."""
    values = (check.identifier("message_id", message_id),)
    return scalar(schema, "message_cancel", "bigint", values)


def message_cancel_many(schema: str, message_ids: Iterable[int]) -> Call[list[Cancelled]]:
    """Delete many messages that nobody is working on."""
    values = ([check.identifier("message_id", each) for each in message_ids],)
    return CANCELLED.call(schema, "message_cancel", "bigint[]", values)


def message_purge(schema: str, channel: str, *, limit: int) -> Call[int]:
    """Delete a channel's waiting messages, so many a call."""
    values = (check.name("channel", channel), check.count("limit", limit))
    return scalar(schema, "message_purge", "text integer", values)


def message_peek(schema: str, channel: str, *, limit: int) -> Call[list[PeekedMessage]]:
    """Look at a channel's first messages and take none."""
    values = (check.name("channel", channel), check.count("limit", limit))
    return PEEKED.call(schema, "message_peek", "text integer", values)


def message_explain(schema: str, message_id: int) -> Call[Explanation]:
    """Ask why a message is not running."""
    values = (check.identifier("message_id", message_id),)
    return EXPLAINED.call_one(schema, "message_explain", "bigint", values)
