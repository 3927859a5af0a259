"""A trace goes with a message: from the request that creates it, through the queue, into every attempt to handle it."""

import subprocess
import sys
from itertools import pairwise

import httpx
import psycopg
import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode
from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import ConnectionPool
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from lonnymq import AsyncQueue, Context, NewMessage, Queue, SyncContext, Worker, tracing
from lonnymq.errors import ChannelFull
from lonnymq.worker.sync_runner import SyncRunner
from running_worker import outcomes, running_worker, soon


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    """The spans of this test, and of no other: the provider is gone when it ends."""
    provider, exporter = TracerProvider(), InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    return exporter


def named(spans: InMemorySpanExporter, name: str) -> list[ReadableSpan]:
    """The spans of a name that have ended, in the order of their beginnings."""
    found = [each for each in spans.get_finished_spans() if each.name == name]
    return sorted(found, key=lambda each: each.start_time or 0)


def is_child(child: ReadableSpan, parent: ReadableSpan) -> bool:
    """Whether a span is the direct child of another, in the same trace."""
    assert child.context is not None
    assert parent.context is not None
    return (
        child.parent is not None
        and child.parent.span_id == parent.context.span_id
        and child.context.trace_id == parent.context.trace_id
    )


async def test_a_trace_goes_from_a_request_through_the_queue_into_each_attempt(
    dsn_18: str, spans: InMemorySpanExporter
) -> None:
    tracer = trace.get_tracer("the user's own")
    worker = Worker()
    queue = AsyncQueue(dsn_18)

    async def order(request: Request) -> Response:
        with tracer.start_as_current_span("POST /orders", kind=SpanKind.SERVER):
            await queue.create("acme", b"7", kind="ship", headers={"shop": "north"})
        return PlainTextResponse("ordered")

    @worker.handler("ship", retry_delays_ms=[0])
    async def ship(content: bytes, context: Context) -> None:
        assert context.headers["shop"] == "north"
        with tracer.start_as_current_span("write a label"):
            if context.attempt == 1:
                raise TimeoutError("the printer is busy")
        await context.queue.create("acme", b"8", kind="tell")

    @worker.handler("tell")
    def tell(content: bytes, context: SyncContext) -> None:
        with tracer.start_as_current_span("send a mail"):
            pass

    app = Starlette(routes=[Route("/orders", order, methods=["POST"])])
    transport = httpx.ASGITransport(app)
    async with queue, httpx.AsyncClient(transport=transport, base_url="http://shop") as client:
        await client.post("/orders")
        with Queue(dsn_18) as looking:
            async with running_worker(worker, dsn_18):
                await soon(lambda: outcomes(looking) == ["failed", "completed", "completed"])
        await soon(lambda: len(named(spans, "process lonnymq")) == 3)

    (request,) = named(spans, "POST /orders")
    created, created_later = named(spans, "create lonnymq")
    first, second, third = named(spans, "process lonnymq")
    failing, labelling = named(spans, "write a label")
    (mailing,) = named(spans, "send a mail")
    assert len(spans.get_finished_spans()) == 9
    chain = [request, created, first, failing]
    assert all(is_child(child, parent) for parent, child in pairwise(chain))
    chain = [created, second, created_later, third, mailing]
    assert all(is_child(child, parent) for parent, child in pairwise(chain))
    assert is_child(labelling, second)

    assert (created.kind, first.kind) == (SpanKind.PRODUCER, SpanKind.CONSUMER)
    known = conninfo_to_dict(dsn_18)
    server = {"server.address": known["host"], "server.port": int(str(known["port"]))}
    assert dict(created.attributes or {}) == {
        "messaging.system": "lonnymq",
        "messaging.destination.name": "lonnymq",
        "messaging.operation.name": "create",
        "messaging.operation.type": "send",
        "messaging.message.id": "1",
        "lonnymq.channel": "acme",
        "lonnymq.kind": "ship",
        **server,
    }
    assert dict(first.attributes or {}) == {
        "messaging.system": "lonnymq",
        "messaging.destination.name": "lonnymq",
        "messaging.operation.name": "process",
        "messaging.operation.type": "process",
        "messaging.message.id": "1",
        "lonnymq.channel": "acme",
        "lonnymq.kind": "ship",
        "lonnymq.attempt": 1,
        "lonnymq.outcome": "failed",
        "error.type": "TimeoutError",
        **server,
    }
    assert first.status.status_code is StatusCode.ERROR
    assert [(each.name, dict(each.attributes or {})) for each in first.events] == [
        ("exception", {"exception.type": "TimeoutError"})
    ]
    assert second.status.status_code is StatusCode.UNSET
    assert second.attributes is not None
    assert (second.attributes["lonnymq.attempt"], second.attributes["lonnymq.outcome"]) == (
        2,
        "completed",
    )
    for attempt in (first, second):
        assert [each.context.span_id for each in attempt.links] == [created.context.span_id]


async def test_a_batch_is_one_span_with_links_to_where_its_messages_come_from(
    dsn_18: str, spans: InMemorySpanExporter
) -> None:
    worker = Worker()

    @worker.handler(batch=10)
    async def together(contents: list[bytes]) -> None:
        assert len(contents) == 3

    with Queue(dsn_18) as queue:
        queue.create_many([b"1", NewMessage(b"2", headers={"own": 1})], channel="acme")
        queue.copy([NewMessage(b"3")], channel="acme")
        async with running_worker(worker, dsn_18):
            await soon(lambda: outcomes(queue) == ["completed"] * 3)
    await soon(lambda: named(spans, "process lonnymq"))
    many, copied = named(spans, "create lonnymq")
    (processed,) = named(spans, "process lonnymq")
    assert (many.attributes or {})["messaging.batch.message_count"] == 2
    assert (processed.attributes or {})["messaging.batch.message_count"] == 3
    linked = {each.context.span_id for each in processed.links}
    assert linked == {many.context.span_id, copied.context.span_id}
    assert processed.parent is None


def test_handlers_that_are_run_inline_are_traced_too(
    dsn_18: str, spans: InMemorySpanExporter
) -> None:
    """As a Spark task does: whoever leases the messages, the attempt belongs to the trace of the creation."""
    worker = Worker()

    @worker.handler()
    def plain(content: bytes) -> None: ...

    with Queue(dsn_18) as queue, SyncRunner(worker.handlers, dsn_18) as inline:
        queue.create("acme", b"x")
        inline.settle(inline.handle(list(queue.dequeue(1))))
        assert outcomes(queue) == ["completed"]
    (created,), (processed,) = named(spans, "create lonnymq"), named(spans, "process lonnymq")
    assert is_child(processed, created)


def test_a_message_that_says_where_it_comes_from_is_left_as_it_is(
    dsn_18: str, spans: InMemorySpanExporter
) -> None:
    own = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
    with Queue(dsn_18) as queue:
        queue.create("acme", b"x", headers=own)
        queue.create("acme", b"y")
        first, second = queue.peek("acme")
    assert first.headers == own
    assert second.headers is not None
    assert list(second.headers) == ["traceparent"]


def test_an_error_of_the_queue_ends_the_span_of_the_creation(
    dsn_18: str, spans: InMemorySpanExporter
) -> None:
    with Queue(dsn_18) as queue, pytest.raises(ValueError, match="channel"):
        queue.create("", b"x")
    (created,) = named(spans, "create lonnymq")
    assert created.status.status_code is StatusCode.ERROR


def test_whoever_does_not_trace_imports_nothing_of_it_and_stores_nothing_more(dsn_18: str) -> None:
    program = (
        "import sys, lonnymq\n"
        "from lonnymq.worker import Worker\n"
        "queue = lonnymq.Queue(sys.argv[1])\n"
        "queue.create('acme', b'x')\n"
        "queue.create_many([b'y'], channel='acme')\n"
        "assert [each.headers for each in queue.peek('acme')] == [None, None]\n"
        "assert not [each for each in sys.modules if each.startswith('opentelemetry')]\n"
    )
    subprocess.run([sys.executable, "-c", program, dsn_18], check=True)


async def test_a_failed_creation_tells_the_type_of_the_error_and_its_text_only_if_wanted(
    dsn_18: str, spans: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tracing, "has_error_texts", False)
    with Queue(dsn_18) as queue:
        queue.channel("secret-name").set(max_size=1)
        queue.create("secret-name", b"x")
        for has_texts in (False, True):
            tracing.record_error_texts(has_texts)
            with pytest.raises(ChannelFull):
                queue.create("secret-name", b"x")
            span = spans.get_finished_spans()[-1]
            (event,) = span.events
            assert event.attributes is not None
            assert ("exception.message" in event.attributes) is has_texts
            assert span.status.description == "ChannelFull"


def test_the_address_of_the_server_is_known_of_a_dsn_a_pool_and_a_connection(
    dsn_18: str, spans: InMemorySpanExporter
) -> None:
    host = conninfo_to_dict(dsn_18)["host"]
    with psycopg.connect(dsn_18) as connection, ConnectionPool(dsn_18, min_size=1) as pool:
        for source in (dsn_18, connection, pool):
            Queue(source).create("acme", b"x")
            attributes = spans.get_finished_spans()[-1].attributes
            assert attributes is not None
            assert attributes["server.address"] == host
