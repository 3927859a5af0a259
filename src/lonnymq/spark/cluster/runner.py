"""`run_workers`: your handlers on the executors of a cluster, started from the driver."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from threading import Event
from typing import TYPE_CHECKING, Any

from psycopg import OperationalError

from lonnymq.client import Queue
from lonnymq.client.arguments import Duration, milliseconds
from lonnymq.client.call import schema_name
from lonnymq.errors import InvalidArgument, Unreachable
from lonnymq.spark.cluster.worker import (
    COLUMNS,
    HandlerRegistration,
    WorkerPlan,
    create_task,
    pickle_handlers,
)
from lonnymq.spark.connect import count_slots
from lonnymq.spark.read.schemas import spark_schema
from lonnymq.worker import Handlers, Worker
from lonnymq.worker.handlers import resolve_annotations
from lonnymq.worker.settings import check_channels, check_count, check_kinds, check_lease

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

HANDLER_OPTIONS = (
    "batch",
    "retry_delays_ms",
    "retry_jitter",
    "max_attempts",
    "timeout_ms",
    "payload_type",
    "max_result_bytes",
)


def run_workers(
    spark: SparkSession,
    handlers: Worker | Handlers | Callable[..., Any],
    *,
    url: str | None = None,
    schema: str | None = None,
    num_workers: int | None = None,
    duration: Duration = 60_000,
    until_empty: bool = False,
    concurrency: int | None = None,
    lease_ms: Duration | None = None,
    shutdown_timeout_ms: Duration | None = None,
    kinds: Iterable[str | None] | None = None,
    channels: Iterable[str] | None = None,
) -> DataFrame:
    """Run your handlers on executors for a while, and return a row for each message that was settled.

    `handlers` is a Worker, its handlers, or a function for all messages. The settings of a Worker are the defaults.
    `num_workers` workers run at the same time, each in a task. The default is the parallelism of the cluster.
    The workers take only kinds of messages that have a handler, or only `kinds` of these, and only from `channels`.
    Each worker ends after `duration`, or with `until_empty` as soon as no message is due.
    The work is done when the call returns: you can read the rows as often as you like.
    """
    plan = create_plan(
        to_worker(handlers),
        url=url,
        schema=schema,
        duration=duration,
        until_empty=until_empty,
        concurrency=concurrency,
        lease_ms=lease_ms,
        shutdown_timeout_ms=shutdown_timeout_ms,
        kinds=kinds,
        channels=channels,
    )
    check_database(plan)
    # The rows stay on their executors: to read the rows of a lost executor fails and does not run the workers again.
    return start_workers(spark, plan, num_workers).localCheckpoint(eager=True)


def run_workers_until(
    spark: SparkSession, worker: Worker, *, num_workers: int | None, until: Event, **options: Any
) -> Iterator[dict[str, int]]:
    """Replace the workers whenever they end, until told to stop; yields the number of messages per answer."""
    while not until.is_set():
        rows = start_workers(spark, create_plan(to_worker(worker), **options), num_workers)
        yield {row["answer"]: row["count"] for row in rows.groupBy("answer").count().collect()}


def start_workers(spark: SparkSession, plan: WorkerPlan, num_workers: int | None) -> DataFrame:
    """The rows of the workers, which run whenever the rows are read."""
    tasks = count_slots(spark) if num_workers is None else check_count("num_workers", num_workers)
    return spark.range(0, tasks, 1, tasks).mapInArrow(create_task(plan), spark_schema(COLUMNS))


def check_database(plan: WorkerPlan) -> None:
    """Raise before any task starts if the database is unreachable or has no queue."""
    try:
        with Queue(plan.dsn, schema=plan.schema) as queue:
            queue.worker_list(limit=1)
    except OperationalError as error:
        raise Unreachable(f"the database cannot be reached: {str(error).strip()}") from None


def create_plan(
    worker: Worker,
    *,
    url: str | None,
    schema: str | None = None,
    duration: Duration,
    until_empty: bool = False,
    concurrency: int | None = None,
    lease_ms: Duration | None = None,
    shutdown_timeout_ms: Duration | None = None,
    kinds: Iterable[str | None] | None = None,
    channels: Iterable[str] | None = None,
) -> WorkerPlan:
    """The settings for the tasks: the arguments, or else the settings of the worker."""
    settings, dsn = worker.settings, url or worker.dsn
    if not dsn:
        raise InvalidArgument(
            "run_workers needs the url of the database: pass url, or make the Worker with a DSN"
        )
    seconds = milliseconds("duration", duration) / 1000
    return WorkerPlan(
        pickled=pickle_handlers(list_registrations(worker.handlers), worker.hooks),
        dsn=dsn,
        schema=settings.schema if schema is None else schema_name(schema),
        concurrency=settings.concurrency
        if concurrency is None
        else check_count("concurrency", concurrency),
        lease_ms=settings.lease_ms if lease_ms is None else check_lease(lease_ms),
        shutdown_timeout_ms=settings.shutdown_timeout_ms
        if shutdown_timeout_ms is None
        else milliseconds("shutdown_timeout_ms", shutdown_timeout_ms),
        ends_at=time.time() + seconds,
        seconds=seconds,
        until_empty=until_empty,
        kinds=worker.handlers.served(settings.kinds if kinds is None else check_kinds(kinds)),
        channels=settings.channels if channels is None else check_channels(channels),
    )


def to_worker(handlers: Worker | Handlers | Callable[..., Any]) -> Worker:
    """A worker with the given handlers."""
    if isinstance(handlers, Worker):
        worker = handlers
    else:
        worker = Worker()
        if isinstance(handlers, Handlers):
            worker.handlers = handlers
        elif callable(handlers):
            worker.handler("*")(handlers)
        else:
            raise InvalidArgument(
                f"run_workers takes a Worker, the handlers of a Worker, or a function, not {type(handlers).__name__}"
            )
    if not len(worker.handlers):
        raise InvalidArgument("the worker has no handlers: register a handler with @worker.handler")
    return worker


def list_registrations(handlers: Iterable[Any]) -> tuple[HandlerRegistration, ...]:
    """The handlers in a form that executors can register again."""
    return tuple(
        HandlerRegistration(
            each.function,
            each.kind,
            {name: getattr(each, name) for name in HANDLER_OPTIONS},
            resolve_annotations(each.function),
        )
        for each in handlers
    )
