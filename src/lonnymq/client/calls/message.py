"""The functions of messages that need no lease: create, cancel, purge, peek, explain."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lonnymq.client.arguments import Bytes, Count, Identifier, Ids, Name
from lonnymq.client.call import Call, Row, scalar, statement
from lonnymq.client.describe import ADMIN, NOBODY, PRODUCER, VIEWER, sql_builder, sql_function
from lonnymq.client.new_message import NewMessage, check_message, message_columns
from lonnymq.errors import ChannelFull, ChannelRetiring
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
    Rejected,
)

CREATED = "r.answer, r.id, r.reason, r.size, r.max_size"
CREATE_TYPES = "text bytea bigint bigint text text jsonb"
CREATE_MANY_TYPES = "text[] bytea[] bigint[] bigint[] text[] text[] jsonb[]"


@sql_builder(PRODUCER, method=False)
def message_create(schema: str, message: NewMessage) -> Call[CreateResult]:
    """Add a message to a channel. A rejection is raised."""
    values = check_message(message)

    def parse(rows: Sequence[Row]) -> CreateResult:
        return raise_refusal(values.channel, decode_creation(rows[0]))

    return Call(statement(schema, "message_create", CREATE_TYPES, CREATED), tuple(values), parse)


@sql_builder(PRODUCER, method=False)
def message_create_many(
    schema: str, messages: Iterable[Bytes | NewMessage], *, channel: str | None
) -> Call[list[CreateManyResult]]:
    """Add many messages in this order. Refusals are among the results."""
    values = message_columns(messages, channel=channel)
    sql = statement(schema, "message_create_many", CREATE_MANY_TYPES, CREATED)
    return Call(
        f"{sql} order by r.ordinal", values, lambda found: list(map(decode_creation, found))
    )


def decode_creation(row: Row) -> CreateManyResult:
    """What became of one new message."""
    answer, message_id, reason, size, max_size = row
    if answer == "created":
        return Created(message_id)
    if answer == "duplicate":
        return Duplicate(message_id)
    return (Dropped if answer == "dropped" else Rejected)(reason, size, max_size)


def raise_refusal(channel: str, result: CreateManyResult) -> CreateResult:
    """The result, unless it is a rejection: that is raised."""
    if not isinstance(result, Rejected):
        return result
    if result.reason == "retiring":
        raise ChannelRetiring(channel)
    raise ChannelFull(channel, size=result.size, max_size=result.max_size)


@sql_builder(NOBODY, method=False)
def message_announce(schema: str, channels: Iterable[str]) -> Call[int]:
    """Announce messages that COPY has stored, in the same transaction."""
    return scalar(schema, "message_announce", "text[]", (sorted(set(channels)),))


@sql_function(PRODUCER, using=True)
def message_cancel(message_id: Identifier) -> CancelAnswer:
    """Delete a message that is not leased."""


@sql_function(PRODUCER, function="message_cancel", using=True)
def message_cancel_many(message_ids: Ids) -> list[Cancelled]:
    """Delete many messages that are not leased."""


@sql_function(ADMIN)
def message_purge(channel: Name, *, limit: Count = 10_000) -> int:
    """Delete up to `limit` waiting messages of a channel, and answer how many."""


@sql_function(VIEWER)
def message_peek(channel: Name, *, limit: Count = 10) -> list[PeekedMessage]:
    """Show the first messages of a channel without a lease."""


@sql_function(VIEWER)
def message_explain(message_id: Identifier) -> Explanation:
    """Explain why a message is not running."""
