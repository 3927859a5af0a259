"""One shift on an executor: a worker that takes and settles messages for a while, and tells what came of each."""

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

from lonnymq.spark.schemas import Column, arrow_schema, columns
from lonnymq.worker.context import HandlerContext
from lonnymq.worker.fetcher import Fetcher
from lonnymq.worker.handlers import Function, Handlers
from lonnymq.worker.pools import run_event_loop
from lonnymq.worker.reporter import Hooks
from lonnymq.worker.session import Session
from lonnymq.worker.settings import Settings, unique_worker_name

COLUMNS: tuple[Column, ...] = (
    *columns("r", id="long", channel="text", kind="text", name="text", attempt="integer"),
    *columns("r", answer="text", error="text", elapsed_ms="double", worker="text", task="integer"),
)
ARROW = arrow_schema(COLUMNS)
MOST_ROWS, LONGEST_SECONDS = 5000, 1.0
Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Registration:
    """A handler as it was registered, which can be sent to an executor and registered again there."""

    function: Function
    kind: str | None
    options: dict[str, Any]
    hints: dict[str, Any]

    def register(self, handlers: Handlers) -> None:
        """Register it; what its annotations name may be unknown here, and what they mean was sent along."""
        if inspect.isfunction(self.function):
            self.function.__annotations__ = dict(self.hints)
        handlers.add(self.function, self.kind, **self.options)


@dataclass(frozen=True, slots=True)
class Plan:
    """What the tasks of one shift are told; the registered handlers and the hooks are packed."""

    packed: bytes
    dsn: str
    schema: str
    concurrency: int
    lease_ms: int
    grace_ms: int
    ends_at: float
    seconds: float
    until_empty: bool

    def unpacked(self) -> tuple[Handlers, Hooks]:
        """The handlers, registered here, and the hooks."""
        registrations, hooks = pickle.loads(self.packed)  # noqa: S301 - our own driver's
        found = Handlers()
        for each in registrations:
            each.register(found)
        return found, hooks

    def left(self) -> float:
        """How many seconds are left of the shift: the second try of a task has less."""
        return max(0.0, min(self.seconds, self.ends_at - time.time()))


class Packer(CloudPickler):
    """Packs functions with what they need, where executors cannot import it.

    Of a payload's class not what its reader keeps there, which is made anew; and its annotations with their meaning.
    """

    def reducer_override(self, obj: Any) -> Any:
        """Say how a class or a function is packed."""
        if isinstance(obj, type) and "__msgspec_cache__" in vars(obj):
            del obj.__msgspec_cache__  # type: ignore[attr-defined]  # it is there
            meant = get_type_hints(obj, include_extras=True)
            obj.__annotations__ = {name: meant[name] for name in obj.__annotations__}
        return super().reducer_override(obj)  # type: ignore[no-untyped-call]  # Spark's copy has no types


def packed(registrations: tuple[Registration, ...], hooks: Hooks) -> bytes:
    """Handlers and hooks for executors."""
    buffer = io.BytesIO()
    packer: Any = Packer(buffer)  # type: ignore[no-untyped-call]  # Spark's copy has no types
    packer.dump((registrations, hooks))
    return buffer.getvalue()


class UntilEmpty(Fetcher):
    """Takes messages until there is none, nothing being under way that could free one."""

    ended: Any = None

    async def fetch(self, limit: int) -> float | None:
        """Take, and say so when that was all."""
        was_idle = not self.runner.leases
        pause = await super().fetch(limit)
        if was_idle and pause and self.ended is not None:
            self.ended()
        return pause


class Shift:
    """The worker of one task, in a thread of its own; its rows are read by the task."""

    def __init__(self, plan: Plan, task: int) -> None:
        self.plan, self.task = plan, task
        self.rows: queue.SimpleQueue[Row | None] = queue.SimpleQueue()
        self.failure: BaseException | None = None
        self.loop: asyncio.AbstractEventLoop | None = None
        self.session: Session | None = None
        self.thread = threading.Thread(target=self.work, name="lonnymq shift", daemon=True)

    def work(self) -> None:
        """Run the worker from its beginning to its end."""
        try:
            run_event_loop(self.serve())
        except BaseException as error:  # which the task raises
            self.failure = error
        self.rows.put(None)

    async def serve(self) -> None:
        """Run a session until the time is up."""
        plan = self.plan
        settings = Settings(
            dsn=plan.dsn,
            schema=plan.schema,
            name=unique_worker_name("spark"),
            concurrency=plan.concurrency,
            lease_ms=plan.lease_ms,
            shutdown_timeout_ms=plan.grace_ms,
            poll_interval_ms=None,
            flush_interval_ms=2,
        )
        handlers, hooks = plan.unpacked()
        session = Session(settings, handlers=handlers, hooks=hooks)
        session.reporter.listener = self.tell
        if plan.until_empty:
            fetcher = UntilEmpty(session.database, session.runner, session.heartbeats, settings)
            fetcher.ended = self.end
            session.fetcher = fetcher
        self.session, self.loop = session, asyncio.get_running_loop()
        self.loop.call_later(plan.left(), self.end)
        await session.run()

    def tell(self, context: HandlerContext, answer: str) -> None:
        """Make a row of what came of a message."""
        message = context.message
        error = (
            None if context.error is None else f"{type(context.error).__name__}: {context.error}"
        )
        self.rows.put(
            (
                *(message.id, message.channel, message.kind, message.name, message.attempt),
                *(answer, error, context.elapsed_ms, self.session_name, self.task),
            )
        )

    @property
    def session_name(self) -> str:
        """The worker's name."""
        return self.session.settings.name if self.session else ""

    def end(self) -> None:
        """Take nothing new; handlers may end. Said twice to a session it would mean to give all back at once."""
        if self.session is not None and not self.session.stopping.is_set():
            self.session.stop()

    def stop(self) -> None:
        """End before the time is up, when nobody reads the rows any more."""
        if self.loop is not None and self.thread.is_alive():
            with suppress(RuntimeError):  # the loop has ended by itself
                self.loop.call_soon_threadsafe(self.end)
            self.thread.join(self.plan.grace_ms / 1000 + 10)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows as they come."""
        self.thread.start()
        try:
            is_over = False
            while not is_over:
                rows, is_over = self.gather()
                if rows:
                    yield batch_of(rows)
        finally:
            self.stop()
        if self.failure is not None:
            raise self.failure

    def gather(self) -> tuple[list[Row], bool]:
        """Some rows, at least once a second; and whether they were the last."""
        rows: list[Row] = []
        until = time.monotonic() + LONGEST_SECONDS
        while len(rows) < MOST_ROWS and (left := until - time.monotonic()) > 0:
            try:
                row = self.rows.get(timeout=left)
            except queue.Empty:
                break
            if row is None:
                return rows, True
            rows.append(row)
        return rows, False


def batch_of(rows: list[Row]) -> pa.RecordBatch:
    """Rows as Spark wants them."""
    arrays = [
        pa.array(values, field.type)
        for values, field in zip(zip(*rows, strict=True), ARROW, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=ARROW)


def work_shift(plan: Plan) -> Any:
    """What each task runs."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            pass
        context = TaskContext.get()
        yield from Shift(plan, context.partitionId() if context else 0).batches()

    return work
