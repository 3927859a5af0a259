"""A trace goes through Spark: from a request, or from a DataFrame's headers, into a handler on an executor."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pyspark import cloudpickle
from pyspark.sql import SparkSession

from lonnymq import Context, Queue, Worker
from lonnymq.spark import run_workers

pytestmark = [pytest.mark.timeout(900), pytest.mark.long]  # a Spark on a machine that may be busy
cloudpickle.register_pickle_by_value(sys.modules[__name__])
TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    """The spans of this process, and of this test alone."""
    provider, exporter = TracerProvider(), InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    return exporter


class IntoFolder(SpanExporter):
    """Writes each span into a file of its own, while there is a folder for them."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)

    def export(self, spans: Any) -> SpanExportResult:
        for span in spans:
            if self.folder.is_dir():
                name = f"{span.get_span_context().span_id:016x}.json"
                (self.folder / name).write_text(span.to_json())
        return SpanExportResult.SUCCESS


def traced_worker(dsn: str, folder: str) -> Worker:
    worker = Worker(dsn)

    @worker.before
    def set_up(context: Context) -> None:
        """On an executor, whose process nobody else sets up."""
        from opentelemetry import trace as here
        from opentelemetry.sdk import trace as sdk
        from opentelemetry.sdk.trace import export

        if not isinstance(here.get_tracer_provider(), sdk.TracerProvider):
            provider = sdk.TracerProvider()
            provider.add_span_processor(export.SimpleSpanProcessor(IntoFolder(folder)))
            here.set_tracer_provider(provider)

    @worker.handler("ship")
    async def ship(content: bytes, context: Context) -> None:
        from opentelemetry import trace as here

        with here.get_tracer("the user's own").start_as_current_span(f"ship {content.decode()}"):
            pass

    return worker


def test_a_handler_on_an_executor_belongs_to_the_trace_of_the_request(
    spark: SparkSession, dsn_18: str, spans: InMemorySpanExporter, tmp_path: Path
) -> None:
    """And so does one whose message was a row with a `traceparent` among its headers."""
    with Queue(dsn_18) as queue, trace.get_tracer("shop").start_as_current_span("POST /orders"):
        queue.create("acme", b"one", kind="ship")
    created, request = spans.get_finished_spans()
    assert (created.name, request.name) == ("create lonnymq", "POST /orders")
    rows = spark.createDataFrame(
        [("globex", "two", "ship", {"traceparent": f"00-{TRACE}-{SPAN}-01"})],
        "channel string, content string, kind string, headers map<string,string>",
    )
    rows.write.format("lonnymq").mode("append").option("url", dsn_18).save()

    worker = traced_worker(dsn_18, str(tmp_path))
    done = run_workers(spark, worker, num_workers=1, until_empty=True, duration=120_000)
    ids = {row.channel: str(row.id) for row in done.collect()}

    results = [json.loads(path.read_text()) for path in tmp_path.glob("*.json")]
    processed = {
        each["attributes"]["messaging.message.id"]: each
        for each in results
        if each["name"] == "process lonnymq"
    }
    assert sorted(processed) == sorted(ids.values())
    first, second = processed[ids["acme"]], processed[ids["globex"]]
    context, parent = created.get_span_context(), request.get_span_context()
    assert context is not None
    assert parent is not None
    assert first["context"]["trace_id"] == f"0x{context.trace_id:032x}"
    assert first["parent_id"] == f"0x{context.span_id:016x}"
    assert parent.trace_id == context.trace_id
    assert second["context"]["trace_id"] == f"0x{TRACE}"
    assert second["parent_id"] == f"0x{SPAN}"
    for name, attempt in (("ship one", first), ("ship two", second)):
        (own,) = [each for each in results if each["name"] == name]
        assert own["context"]["trace_id"] == attempt["context"]["trace_id"]
        assert own["parent_id"] == attempt["context"]["span_id"]
