"""A message before it is one: what callers put into a batch, checked and ready to be sent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from lonnymq.client import arguments as check
from lonnymq.client.arrays import Contents, Texts, optional_column


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


class Checked(NamedTuple):
    """A new message in the order and the types of `message_create`'s parameters."""

    channel: str
    content: bytes
    dequeue_at: int | None
    delay_ms: int | None
    key: str | None
    kind: str | None
    headers: str | None


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
    )


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
        return ([],) * 7
    if not any(isinstance(each, NewMessage) for each in given):
        contents = Contents([check.content("content", each) for each in given])
        return Texts([check.name("channel", channel)] * len(given)), contents, *(None,) * 5
    told = [each if isinstance(each, NewMessage) else NewMessage(each) for each in given]
    if all(map(is_plain, told)):
        names = [channel if each.channel is None else each.channel for each in told]
        contents = Contents([check.content("content", each.content) for each in told])
        return Texts([check.name("channel", each) for each in names]), contents, *(None,) * 5
    channels, contents_of, *others = zip(*check_messages(told, channel=channel), strict=True)
    return Texts(channels), Contents(contents_of), *map(optional_column, others)


def is_plain(message: NewMessage) -> bool:
    """Whether a message says nothing but its content and perhaps its channel."""
    return (
        message.dequeue_at is None
        and message.delay_ms is None
        and message.key is None
        and message.kind is None
        and message.headers is None
    )
