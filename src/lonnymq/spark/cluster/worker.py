"""A worker in a task on an executor: takes and settles messages for a while, and returns a row for each message."""

from __future__ import annotations

import asyncio
import inspect
import io
import pickle
import queue
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, get_type_hints

import pyarrow as pa
from pyspark import TaskContext
from pyspark.cloudpickle import CloudPickler

from lonnymq.spark.read.schemas import Column, arrow_schema, columns
from lonnymq.worker.context import HandlerContext
from lonnymq.worker.fetcher import Fetcher
from lonnymq.worker.handlers import Function, Handlers
from lonnymq.worker.pools import run_event_loop
from lonnymq.worker.reporter import Hooks
from lonnymq.worker.session import Session
from lonnymq.worker.settings import Settings, unique_worker_name

COLUMNS: tuple[Column, ...] = (
    *columns("r", id="long", channel="text", kind="text", key="text", attempt="integer"),
    *columns("r", answer="text", error="text", elapsed_ms="double", worker="text", task="integer"),
)
ARROW = arrow_schema(COLUMNS)
MAX_ROWS, MAX_SECONDS = 5000, 1.0  # of a batch of rows
Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class HandlerRegistration:
    """A registered handler, in a form that can be sent to an executor and registered again there."""

    function: Function
    kind: str | None
    options: dict[str, Any]
    hints: dict[str, Any]

    def register(self, handlers: Handlers) -> None:
        """Register the handler, with resolved annotations: their names may be unknown on the executor."""
        if inspect.isfunction(self.function):
            self.function.__annotations__ = dict(self.hints)
        handlers.add(self.function, self.kind, **self.options)


@dataclass(frozen=True, slots=True)
class WorkerPlan:
    """The settings of all workers of a run; handlers and hooks are pickled."""

    pickled: bytes
    dsn: str
    schema: str
    concurrency: int
    lease_ms: int
    shutdown_timeout_ms: int
    ends_at: float
    seconds: float
    until_empty: bool
    kinds: tuple[str | None, ...] | None
    channels: tuple[str, ...] | None

    def load_handlers(self) -> tuple[Handlers, Hooks]:
        """The handlers, registered on this executor, and the hooks."""
        registrations, hooks = pickle.loads(self.pickled)  # noqa: S301 - our own driver's
        found = Handlers()
        for each in registrations:
            each.register(found)
        return found, hooks

    def remaining_seconds(self) -> float:
        """The remaining seconds of the run: the second attempt of a task has fewer."""
        return max(0.0, min(self.seconds, self.ends_at - time.time()))


class HandlerPickler(CloudPickler):
    """Pickles functions with the modules that executors cannot import.

    A payload class is pickled without the cache of msgspec, which executors make anew, and with resolved annotations.
    """

    def reducer_override(self, obj: Any) -> Any:
        """Prepare a payload class for pickling."""
        if isinstance(obj, type) and "__msgspec_cache__" in vars(obj):
            del obj.__msgspec_cache__  # type: ignore[attr-defined]  # it is there
            hints = get_type_hints(obj, include_extras=True)
            obj.__annotations__ = {name: hints[name] for name in obj.__annotations__}
        return super().reducer_override(obj)  # type: ignore[no-untyped-call]  # Spark's copy has no types


def pickle_handlers(registrations: tuple[HandlerRegistration, ...], hooks: Hooks) -> bytes:
    """Handlers and hooks as bytes for executors."""
    buffer = io.BytesIO()
    pickler: Any = HandlerPickler(buffer)  # type: ignore[no-untyped-call]  # Spark's copy has no types
    pickler.dump((registrations, hooks))
    return buffer.getvalue()


class UntilEmptyFetcher(Fetcher):
    """Takes messages until the queue has none and no handler runs that could free one."""

    on_empty: Any = None

    async def fetch(self, limit: int) -> float | None:
        """Take, and say so when that was all."""
        was_idle = not self.runner.leases
        pause = await super().fetch(limit)
        if was_idle and pause and self.on_empty is not None:
            self.on_empty()
        return pause


class ClusterWorker:
    """The worker of one task, in a thread; the task reads its rows."""

    def __init__(self, plan: WorkerPlan, task: int) -> None:
        self.plan, self.task = plan, task
        self.rows: queue.SimpleQueue[Row | None] = queue.SimpleQueue()
        self.failure: BaseException | None = None
        self.loop: asyncio.AbstractEventLoop | None = None
        self.session: Session | None = None
        self.thread = threading.Thread(target=self.run, name="lonnymq worker", daemon=True)

    def run(self) -> None:
        """Run the worker in its thread."""
        try:
            run_event_loop(self.serve())
        except BaseException as error:  # which the task raises
            self.failure = error
        self.rows.put(None)

    async def serve(self) -> None:
        """Run a session until the time is over."""
        plan = self.plan
        settings = Settings(
            dsn=plan.dsn,
            schema=plan.schema,
            name=unique_worker_name("spark"),
            concurrency=plan.concurrency,
            lease_ms=plan.lease_ms,
            shutdown_timeout_ms=plan.shutdown_timeout_ms,
            poll_interval_ms=None,
            flush_interval_ms=2,
            kinds=plan.kinds,
            channels=plan.channels,
        )
        handlers, hooks = plan.load_handlers()
        session = Session(settings, handlers=handlers, hooks=hooks)
        session.reporter.listener = self.add_row
        if plan.until_empty:
            fetcher = UntilEmptyFetcher(
                session.database, session.runner, session.heartbeats, session.settings
            )
            fetcher.on_empty = self.end
            session.fetcher = fetcher
        self.session, self.loop = session, asyncio.get_running_loop()
        self.loop.call_later(plan.remaining_seconds(), self.end)
        await session.run()

    def add_row(self, context: HandlerContext, answer: str) -> None:
        """Make a row of what came of a message."""
        message = context.message
        error = (
            None if context.error is None else f"{type(context.error).__name__}: {context.error}"
        )
        self.rows.put(
            (
                *(message.id, message.channel, message.kind, message.key, message.attempt),
                *(answer, error, context.elapsed_ms, self.session_name, self.task),
            )
        )

    @property
    def session_name(self) -> str:
        """The name of the worker."""
        return self.session.settings.name if self.session else ""

    def end(self) -> None:
        """Take no more messages and let handlers finish. A second stop would make the session return all messages."""
        if self.session is not None and not self.session.stopping.is_set():
            self.session.stop()

    def stop(self) -> None:
        """End early, when the task no longer reads the rows."""
        if self.loop is not None and self.thread.is_alive():
            with suppress(RuntimeError):  # the loop has ended already
                self.loop.call_soon_threadsafe(self.end)
            self.thread.join(self.plan.shutdown_timeout_ms / 1000 + 10)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, as messages are settled."""
        self.thread.start()
        try:
            is_last = False
            while not is_last:
                rows, is_last = self.collect_rows()
                if rows:
                    yield build_batch(rows)
        finally:
            self.stop()
        if self.failure is not None:
            raise self.failure

    def collect_rows(self) -> tuple[list[Row], bool]:
        """The rows of up to a second, and whether they are the last."""
        rows: list[Row] = []
        until = time.monotonic() + MAX_SECONDS
        while len(rows) < MAX_ROWS and (left := until - time.monotonic()) > 0:
            try:
                row = self.rows.get(timeout=left)
            except queue.Empty:
                break
            if row is None:
                return rows, True
            rows.append(row)
        return rows, False


def build_batch(rows: list[Row]) -> pa.RecordBatch:
    """Rows as an Arrow batch."""
    arrays = [
        pa.array(values, field.type)
        for values, field in zip(zip(*rows, strict=True), ARROW, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=ARROW)


def create_task(plan: WorkerPlan) -> Any:
    """The function that each task runs."""

    def run_worker(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            pass
        context = TaskContext.get()
        yield from ClusterWorker(plan, context.partitionId() if context else 0).batches()

    return run_worker
