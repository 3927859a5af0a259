"""Traces across the queue: the headers of a message carry the trace from the producer to every attempt.

Off unless the program itself has imported OpenTelemetry. Other programs pay a look into `sys.modules`.
Spans are named by OpenTelemetry's conventions for messaging: `create lonnymq` where a message is created, and
`process lonnymq` for every attempt to handle it, which is a child of the first and linked to it.
Spans have the types of errors and not their texts, which may quote a payload. `record_error_texts` changes that.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Link, Span

    from lonnymq.results import LeasedMessage

# A program that has imported this package traces.
PACKAGE = "opentelemetry.trace"
modules = sys.modules
TRACER = "lonnymq"
has_error_texts = False


def record_error_texts(enabled: bool = True) -> None:
    """Let spans have the texts and tracebacks of errors too."""
    global has_error_texts
    has_error_texts = enabled


@contextmanager
def creating(queue: str, message: Any, source: object) -> Iterator[tuple[Any, Span]]:
    """Open a span for the creation of a message, and yield the message with the span's context in the headers."""
    more = {"lonnymq.channel": message.channel, **kind_attribute(message.kind)}
    with producer_span(queue, {**more, **server_attributes(source)}) as span:
        yield with_context(message, current_headers()), span


def set_message_id(span: Span, created: Any) -> None:
    """Add the id of the message that was created, or that has the key already."""
    message_id = getattr(created, "id", None)
    if message_id is not None:
        span.set_attribute("messaging.message.id", str(message_id))


@contextmanager
def creating_many(
    queue: str, messages: Iterable[Any], new: type, source: object
) -> Iterator[Iterator[Any]]:
    """Open a span for the creation of many messages, and yield the messages with the span's context in the headers."""
    count = 0

    def carrying(carrier: Mapping[str, str]) -> Iterator[Any]:
        nonlocal count
        for each in messages:
            count += 1
            yield with_context(each if isinstance(each, new) else new(each), carrier)

    with producer_span(queue, server_attributes(source)) as span:
        yield carrying(current_headers())
        span.set_attribute("messaging.batch.message_count", count)


@contextmanager
def producer_span(queue: str, more: Mapping[str, Any]) -> Iterator[Span]:
    """Open the span of a creation, which records an error."""
    from opentelemetry import trace

    with trace.get_tracer(TRACER).start_as_current_span(
        f"create {queue}",
        kind=trace.SpanKind.PRODUCER,
        attributes={**queue_attributes(queue, "create", "send"), **more},
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        try:
            yield span
        except BaseException as error:
            record_error(span, error)
            raise


def record_error(span: Span, error: BaseException) -> None:
    """Add an error to a span: the type, and the text if the program wants texts."""
    from opentelemetry.trace import StatusCode

    if has_error_texts:
        span.record_exception(error)
    else:
        span.add_event("exception", {"exception.type": type(error).__qualname__})
    span.set_attribute("error.type", type(error).__qualname__)
    span.set_status(StatusCode.ERROR, type(error).__name__)


def current_headers() -> dict[str, str]:
    """Return the current context as headers, in the format of the program's propagator."""
    from opentelemetry import propagate

    carrier: dict[str, str] = {}
    propagate.inject(carrier)
    return carrier


def with_context(message: Any, carrier: Mapping[str, str]) -> Any:
    """Return the message with a context in the headers. A message that has a context already stays unchanged."""
    headers = message.headers or {}
    if not carrier or not carrier.keys().isdisjoint(headers):
        return message
    return replace(message, headers={**headers, **carrier})


def start_attempt(
    queue: str, messages: Sequence[LeasedMessage], source: object = None
) -> tuple[Span, Any]:
    """Start the span of an attempt, or of a batch, and make it the current span."""
    from opentelemetry import context, trace

    origins = [origin_of(each.headers) for each in messages]
    span = trace.get_tracer(TRACER).start_span(
        f"process {queue}",
        context=origins[0] if len(messages) == 1 else None,
        kind=trace.SpanKind.CONSUMER,
        links=links_to(origins),
        attributes={
            **queue_attributes(queue, "process", "process"),
            **message_attributes(messages),
            **server_attributes(source),
        },
    )
    return span, context.attach(trace.set_span_in_context(span))


def end_attempt(
    started: tuple[Span, Any], error: BaseException | None, outcome: str | None
) -> None:
    """End the span of an attempt with the handler's error and the outcome."""
    from opentelemetry import context

    span, token = started
    context.detach(token)
    if outcome is not None:
        span.set_attribute("lonnymq.outcome", outcome)
    if error is not None:
        record_error(span, error)
    span.end()


def origin_of(headers: Mapping[str, Any] | None) -> Context | None:
    """Return the context in which a message was created, or None without such headers."""
    from opentelemetry import propagate

    texts = {key: value for key, value in (headers or {}).items() if isinstance(value, str)}
    return propagate.extract(texts) if texts else None


def links_to(origins: Iterable[Context | None]) -> list[Link]:
    """Return links to the spans that created messages."""
    from opentelemetry import trace

    found = [trace.get_current_span(each).get_span_context() for each in origins if each]
    return [trace.Link(each) for each in found if each.is_valid]


def queue_attributes(queue: str, name: str, kind: str) -> dict[str, str]:
    """Return the attributes of every span of the queue."""
    return {
        "messaging.system": "lonnymq",
        "messaging.destination.name": queue,
        "messaging.operation.name": name,
        "messaging.operation.type": kind,
    }


def server_attributes(source: object) -> dict[str, Any]:
    """Return the address and port of the database, of a source of connections that knows them."""
    conninfo = getattr(source, "dsn", None) or getattr(
        getattr(source, "pool", None), "conninfo", None
    )
    if isinstance(conninfo, str):
        host, port = read_address(conninfo)
    else:
        info = getattr(getattr(source, "given", None), "info", None)
        host, port = getattr(info, "host", None), getattr(info, "port", None)
    if not host:
        return {}
    return {"server.address": host, **({"server.port": int(port)} if port else {})}


@lru_cache(maxsize=100)
def read_address(conninfo: str) -> tuple[str | None, str | None]:
    """Return host and port of a DSN: the first, if it has several."""
    from psycopg.conninfo import conninfo_to_dict

    known = conninfo_to_dict(conninfo)
    found = (str(known.get(name) or "").partition(",")[0] or None for name in ("host", "port"))
    host, port = found
    return host, port


def message_attributes(messages: Sequence[LeasedMessage]) -> dict[str, Any]:
    """Return the attributes that describe messages."""
    if len(messages) > 1:
        return {"messaging.batch.message_count": len(messages), **kind_attribute(messages[0].kind)}
    (message,) = messages
    return {
        "messaging.message.id": str(message.id),
        "lonnymq.channel": message.channel,
        "lonnymq.attempt": message.attempt,
        **kind_attribute(message.kind),
    }


def kind_attribute(kind: str | None) -> dict[str, str]:
    """Return the attribute for the kind of a message, if any."""
    return {} if kind is None else {"lonnymq.kind": kind}
