"""The functions of messages that need no lease: create, cancel, purge, peek, explain, and the dead messages."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypedDict

from lonnymq import results
from lonnymq.client import arguments as check
from lonnymq.client.arguments import (
    Bytes,
    Contents,
    Count,
    Identifier,
    Ids,
    Name,
    Texts,
    optional_column,
)
from lonnymq.client.call import Call, Row, scalar, schema_name, statement
from lonnymq.client.describe import (
    ADMIN,
    EVERYBODY,
    NOBODY,
    PRODUCER,
    VIEWER,
    sql_builder,
    sql_function,
)
from lonnymq.errors import ChannelFull, ChannelRetiring

CREATED = "r.answer, r.id, r.reason, r.size, r.max_size"
HOLDERS: dict[str, Callable[[int], results.CreateManyResult]] = {
    "duplicate": results.Duplicate,
    "replaced": results.Replaced,
    "postponed": results.Postponed,
}
CREATE_TYPES = "text bytea bigint bigint text text jsonb jsonb"
CREATE_MANY_TYPES = "text[] bytea[] bigint[] bigint[] text[] text[] jsonb[] jsonb[]"


class MessageLimits(TypedDict, total=False):
    """The options of a message that few messages have."""

    expires_at: check.Moment | None
    max_attempts: int | None
    priority: int | None
    unique_for_ms: check.Duration | None
    when_duplicate: results.WhenDuplicate | None
    max_delay_ms: check.Duration | None


@dataclass(frozen=True, slots=True)
class NewMessage:
    """One message of a batch: bytes, and what else `create` takes."""

    content: check.Bytes
    channel: str | None = None
    dequeue_at: check.Moment | None = None
    delay_ms: check.Duration | None = None
    key: str | None = None
    kind: str | None = None
    headers: Mapping[str, Any] | None = None
    expires_at: check.Moment | None = None
    max_attempts: int | None = None
    priority: int | None = None
    unique_for_ms: check.Duration | None = None
    when_duplicate: results.WhenDuplicate | None = None
    max_delay_ms: check.Duration | None = None


class Checked(NamedTuple):
    """A new message in the order and the types of `message_create`'s parameters."""

    channel: str
    content: bytes
    dequeue_at: int | None
    delay_ms: int | None
    key: str | None
    kind: str | None
    headers: str | None
    options: dict[str, Any] | None


def check_message(message: NewMessage, *, channel: str | None = None) -> Checked:
    """The message's values, each of them storable; one that names no channel goes to `channel`."""
    check.not_both("dequeue_at", message.dequeue_at, "delay_ms", message.delay_ms)
    return Checked(
        channel=check.name("channel", channel if message.channel is None else message.channel),
        content=check.content("content", message.content),
        dequeue_at=check.optional(check.moment, "dequeue_at", message.dequeue_at),
        delay_ms=check.optional(check.milliseconds, "delay_ms", message.delay_ms),
        key=check.optional(check.name, "key", message.key),
        kind=check.optional(check.name, "kind", message.kind),
        headers=check.optional(check.headers, "headers", message.headers),
        options=check_options(message),
    )


def check_options(message: NewMessage) -> dict[str, Any] | None:
    """The options that `message_create` takes as an object, or None where there are none."""
    if not has_options(message):
        return None
    given = {
        "expires_at": check.optional(check.moment, "expires_at", message.expires_at),
        "max_attempts": check.optional(check.attempts, "max_attempts", message.max_attempts),
        "priority": check.optional(check.priority, "priority", message.priority),
        "unique_for_ms": check.optional(check.milliseconds, "unique_for_ms", message.unique_for_ms),
        "when_duplicate": check.optional(check.text, "when_duplicate", message.when_duplicate),
        "max_delay_ms": check.optional(check.milliseconds, "max_delay_ms", message.max_delay_ms),
    }
    return {name: value for name, value in given.items() if value is not None}


def encode_options(options: dict[str, Any] | None) -> str | None:
    """The options as JSON."""
    return None if options is None else json.dumps(options)


def check_messages(
    messages: Iterable[check.Bytes | NewMessage], *, channel: str | None
) -> Iterator[Checked]:
    """The messages, checked, one by one."""
    for item in messages:
        message = item if isinstance(item, NewMessage) else NewMessage(item)
        yield check_message(message, channel=channel)


def message_columns(
    messages: Iterable[check.Bytes | NewMessage], *, channel: str | None
) -> tuple[object, ...]:
    """The messages, checked, as `message_create_many`'s arrays; bare bytes are the quick way."""
    given = list(messages)
    if not given:
        return ([],) * 8
    if not any(isinstance(each, NewMessage) for each in given):
        contents = Contents([check.content("content", each) for each in given])
        return Texts([check.name("channel", channel)] * len(given)), contents, *(None,) * 6
    wanted = [each if isinstance(each, NewMessage) else NewMessage(each) for each in given]
    if all(map(is_plain, wanted)):
        names = [channel if each.channel is None else each.channel for each in wanted]
        contents = Contents([check.content("content", each.content) for each in wanted])
        return Texts([check.name("channel", each) for each in names]), contents, *(None,) * 6
    channels, contents_of, *others, options = zip(
        *check_messages(wanted, channel=channel), strict=True
    )
    others.append(tuple(map(encode_options, options)))
    return Texts(channels), Contents(contents_of), *map(optional_column, others)


def is_plain(message: NewMessage) -> bool:
    """Whether a message says nothing but its content and perhaps its channel."""
    return (
        message.dequeue_at is None
        and message.delay_ms is None
        and message.key is None
        and message.kind is None
        and message.headers is None
        and not has_options(message)
    )


def has_options(message: NewMessage) -> bool:
    """Whether a message has options that few messages have."""
    return not (
        message.expires_at is None
        and message.max_attempts is None
        and message.priority is None
        and message.unique_for_ms is None
        and message.when_duplicate is None
        and message.max_delay_ms is None
    )


@sql_builder(PRODUCER, method=False)
def message_create(
    schema: str, message: NewMessage, *, group: int | None = None
) -> Call[results.CreateResult]:
    """Add a message to a channel. A rejection is raised."""
    values = check_message(message)

    def parse(rows: Sequence[Row]) -> results.CreateResult:
        return raise_rejection(values.channel, decode_creation(rows[0]))

    *plain, options = values
    sql = statement(schema, "message_create", CREATE_TYPES, CREATED)
    given = (*plain, encode_options(options))
    return Call(*with_group(schema, sql, given, group), parse)


@sql_builder(PRODUCER, method=False)
def message_create_many(
    schema: str,
    messages: Iterable[Bytes | NewMessage],
    *,
    channel: str | None,
    group: int | None = None,
) -> Call[list[results.CreateManyResult]]:
    """Add many messages in this order. Rejections are among the results."""
    values = message_columns(messages, channel=channel)
    sql = statement(schema, "message_create_many", CREATE_MANY_TYPES, CREATED)
    sql = f"{sql} order by r.ordinal"
    return Call(
        *with_group(schema, sql, values, group), lambda found: list(map(decode_creation, found))
    )


def with_group(
    schema: str, sql: str, values: tuple[Any, ...], group: int | None
) -> tuple[str, tuple[Any, ...]]:
    """The same, and those messages that are new become members of the group, in one statement."""
    if group is None:
        return sql, values
    created = "array(select r.id from r where r.answer = 'created')"
    added = f"select {schema_name(schema)}.group_add(%s::bigint, {created})"
    both = f"with r as materialized ({sql}), added as materialized ({added})"
    sql = f"{both} select {CREATED} from r cross join added"  # noqa: S608 - schema_name has passed the schema
    return sql, (*values, check.identifier("group", group))


def decode_creation(row: Row) -> results.CreateManyResult:
    """What became of one new message."""
    answer, message_id, reason, size, max_size = row
    if answer == "created":
        return results.Created(message_id)
    if answer in HOLDERS:
        return HOLDERS[answer](message_id)
    return (results.Dropped if answer == "dropped" else results.Rejected)(reason, size, max_size)


def raise_rejection(channel: str, result: results.CreateManyResult) -> results.CreateResult:
    """The result, unless it is a rejection: that is raised."""
    if not isinstance(result, results.Rejected):
        return result
    if result.reason == "retiring":
        raise ChannelRetiring(channel)
    raise ChannelFull(channel, size=result.size, max_size=result.max_size)


@sql_builder(PRODUCER, function="message_create_many", method=False)
def message_create_columns(
    schema: str, columns: Sequence[Sequence[Any] | None]
) -> Call[list[tuple[str, str | None]]]:
    """Add many messages from columns that are checked already. Each answer comes with its reason."""
    types = CREATE_MANY_TYPES.replace("jsonb[]", "text[]::jsonb[]")
    sql = statement(schema, "message_create_many", types, "r.answer, r.reason")
    return Call(
        f"{sql} order by r.ordinal",
        (*columns, None),
        lambda rows: [(row[0], row[1]) for row in rows],
    )


@sql_builder(NOBODY, method=False)
def message_announce(schema: str, channels: Iterable[str]) -> Call[int]:
    """Announce messages that COPY has stored, in the same transaction."""
    return scalar(schema, "message_announce", "text[]", (sorted(set(channels)),))


@sql_function(PRODUCER, using=True)
def message_cancel(message_id: Identifier) -> results.CancelAnswer:
    """Cancel a message. The worker of a running message is told by the next heartbeat."""


@sql_function(PRODUCER, function="message_cancel", using=True)
def message_cancel_many(message_ids: Ids) -> list[results.Cancelled]:
    """Cancel many messages, waiting or running."""


@sql_function(ADMIN)
def message_purge(
    channel: Name, *, limit: Count = 10_000, last_id: Identifier | None = None
) -> int:
    """Delete up to `limit` waiting messages of a channel, up to the id `last_id`, and answer how many."""


@sql_function(VIEWER)
def message_peek(channel: Name, *, limit: Count = 10) -> list[results.PeekedMessage]:
    """Show the first messages of a channel without a lease."""


@sql_function(VIEWER)
def message_explain(message_id: Identifier) -> results.Explanation:
    """Explain why a message is not running."""


@sql_function(EVERYBODY, using=True)
def message_status(message_id: Identifier) -> results.MessageStatus:
    """Tell what became of a message: waiting, running, completed and so on, with times and the error."""


@sql_function(EVERYBODY, function="message_status", using=True)
def message_status_many(message_ids: Ids) -> list[results.MessageStatus]:
    """Tell what became of many messages. The answers have the order of the ids."""


@sql_function(EVERYBODY, method=False)
def message_watch(message_ids: Ids) -> list[results.MessageStatus]:
    """Ask for a notification when messages end, and tell what became of them so far."""


@sql_function(EVERYBODY, using=True)
def message_result(message_id: Identifier) -> bytes | None:
    """Return the result of a completed message, or None if no result was stored."""


@sql_function(VIEWER)
def dead_list(
    channel: Name | None = None,
    *,
    kind: Name | None = None,
    after: Identifier | None = None,
    limit: Count = 100,
) -> list[results.DeadMessage]:
    """List dead messages page by page, after an id."""


@sql_function(VIEWER)
def dead_ids(
    channel: Name | None = None,
    *,
    kind: Name | None = None,
    after: Identifier | None = None,
    limit: Count = 1000,
) -> list[int]:
    """List the ids of dead messages page by page, after an id."""


@sql_function(ADMIN)
def dead_redrive(
    message_ids: Ids | None = None,
    *,
    channel: Name | None = None,
    kind: Name | None = None,
    limit: Count = 1000,
) -> list[results.Redriven]:
    """Put dead messages back into their channels, by id or by channel. The channel '*' means all channels."""


@sql_function(ADMIN)
def dead_purge(
    message_ids: Ids | None = None,
    *,
    channel: Name | None = None,
    kind: Name | None = None,
    limit: Count = 10_000,
) -> int:
    """Delete dead messages, by id or by channel, and answer how many. The channel '*' means all channels."""
