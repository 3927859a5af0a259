"""A message before it is one: what callers put into a batch, checked and ready to be sent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from lonnymq.calls import check


@dataclass(frozen=True, slots=True)
class NewMessage:
    """One message of a batch: bytes, and what else `create` takes."""

    content: check.Bytes
    channel: str | None = None
    dequeue_at: check.Moment | None = None
    delay_ms: check.Duration | None = None
    name: str | None = None
    kind: str | None = None
    headers: Mapping[str, Any] | None = None


class Checked(NamedTuple):
    """A new message in the order and the types of `message_create`'s parameters."""

    channel: str
    content: bytes
    dequeue_at: int | None
    delay_ms: int | None
    name: str | None
    kind: str | None
    headers: str | None


def checked(message: NewMessage) -> Checked:
    """The message's values, each of them storable."""
    check.not_both("dequeue_at", message.dequeue_at, "delay_ms", message.delay_ms)
    return Checked(
        channel=check.name("channel", message.channel),
        content=check.content("content", message.content),
        dequeue_at=check.optional(check.moment, "dequeue_at", message.dequeue_at),
        delay_ms=check.optional(check.milliseconds, "delay_ms", message.delay_ms),
        name=check.optional(check.name, "name", message.name),
        kind=check.optional(check.name, "kind", message.kind),
        headers=check.optional(check.headers, "headers", message.headers),
    )


def batch(
    messages: Iterable[check.Bytes | NewMessage], *, channel: str | None
) -> Iterator[Checked]:
    """The messages, checked; bare bytes and messages that name no channel go to `channel`."""
    for item in messages:
        message = item if isinstance(item, NewMessage) else NewMessage(item)
        yield checked(message if message.channel is not None else replace(message, channel=channel))
