"""Traces across the queue: a message's headers carry the context from who creates it to who handles it, every time.

Off unless the program itself has imported OpenTelemetry: whoever has not pays a look into `sys.modules`.
Spans are named by OpenTelemetry's conventions for messaging: `create lonnymq` where a message is created, and
`process lonnymq` for every attempt to handle it, which is a child of the first and linked to it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Link, Span

# A program traces if somebody in it has imported this.
PACKAGE = "opentelemetry.trace"
modules = sys.modules
TRACER = "lonnymq"


class Traced(Protocol):
    """A message in the hands of a handler."""

    @property
    def id(self) -> int:
        """Its id."""

    @property
    def channel(self) -> str:
        """Its channel."""

    @property
    def kind(self) -> str | None:
        """Its kind."""

    @property
    def attempt(self) -> int:
        """Which attempt this is."""

    @property
    def headers(self) -> Mapping[str, Any] | None:
        """Its headers."""


@contextmanager
def creating(queue: str, message: Any) -> Iterator[Any]:
    """A span for the creation of one message; yields the message with the span's context in its headers."""
    with sending(queue, {"lonnymq.channel": message.channel, **kind_of(message.kind)}):
        yield with_context(message, current())


@contextmanager
def creating_many(queue: str, messages: Iterable[Any], new: type) -> Iterator[Iterator[Any]]:
    """A span for the creation of many; yields them, each with the span's context in its headers."""
    count = 0

    def carrying(carrier: Mapping[str, str]) -> Iterator[Any]:
        nonlocal count
        for each in messages:
            count += 1
            yield with_context(each if isinstance(each, new) else new(each), carrier)

    with sending(queue, {}) as span:
        yield carrying(current())
        span.set_attribute("messaging.batch.message_count", count)


@contextmanager
def sending(queue: str, more: Mapping[str, Any]) -> Iterator[Span]:
    """The span of a creation; an error that ends it is recorded."""
    from opentelemetry import trace

    with trace.get_tracer(TRACER).start_as_current_span(
        f"create {queue}",
        kind=trace.SpanKind.PRODUCER,
        attributes={**attributes(queue, "create", "send"), **more},
    ) as span:
        yield span


def current() -> dict[str, str]:
    """The current context as headers, in the form that the program has chosen."""
    from opentelemetry import propagate

    carrier: dict[str, str] = {}
    propagate.inject(carrier)
    return carrier


def with_context(message: Any, carrier: Mapping[str, str]) -> Any:
    """The message with a context in its headers; one that says where it comes from is left as it is."""
    headers = message.headers or {}
    if not carrier or not carrier.keys().isdisjoint(headers):
        return message
    return replace(message, headers={**headers, **carrier})


def begin(queue: str, messages: Sequence[Traced]) -> tuple[Span, Any]:
    """Begin the span of an attempt, or of a batch of them, and make it the current one."""
    from opentelemetry import context, trace

    origins = [origin_of(each.headers) for each in messages]
    span = trace.get_tracer(TRACER).start_span(
        f"process {queue}",
        context=origins[0] if len(messages) == 1 else None,
        kind=trace.SpanKind.CONSUMER,
        links=links_to(origins),
        attributes={**attributes(queue, "process", "process"), **about(messages)},
    )
    return span, context.attach(trace.set_span_in_context(span))


def end(begun: tuple[Span, Any], error: BaseException | None, outcome: str | None) -> None:
    """End the span of an attempt: with what the handler raised, and what becomes of the message."""
    from opentelemetry import context
    from opentelemetry.trace import StatusCode

    span, token = begun
    context.detach(token)
    if outcome is not None:
        span.set_attribute("lonnymq.outcome", outcome)
    if error is not None:
        span.record_exception(error)
        span.set_attribute("error.type", type(error).__qualname__)
        span.set_status(StatusCode.ERROR, type(error).__name__)
    span.end()


def origin_of(headers: Mapping[str, Any] | None) -> Context | None:
    """The context in which a message was created; None if its headers tell of none."""
    from opentelemetry import propagate

    texts = {key: value for key, value in (headers or {}).items() if isinstance(value, str)}
    return propagate.extract(texts) if texts else None


def links_to(origins: Iterable[Context | None]) -> list[Link]:
    """Links to where messages come from."""
    from opentelemetry import trace

    found = [trace.get_current_span(each).get_span_context() for each in origins if each]
    return [trace.Link(each) for each in found if each.is_valid]


def attributes(queue: str, name: str, kind: str) -> dict[str, str]:
    """What every span of the queue says."""
    return {
        "messaging.system": "lonnymq",
        "messaging.destination.name": queue,
        "messaging.operation.name": name,
        "messaging.operation.type": kind,
    }


def about(messages: Sequence[Traced]) -> dict[str, Any]:
    """What a span says of its messages."""
    if len(messages) > 1:
        return {"messaging.batch.message_count": len(messages), **kind_of(messages[0].kind)}
    (message,) = messages
    return {
        "messaging.message.id": str(message.id),
        "lonnymq.channel": message.channel,
        "lonnymq.attempt": message.attempt,
        **kind_of(message.kind),
    }


def kind_of(kind: str | None) -> dict[str, str]:
    """The kind of a message, if it has one."""
    return {} if kind is None else {"lonnymq.kind": kind}
