"""Your worker's handlers on a cluster's executors: `run_shifts`, one call a shift."""

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
from lonnymq.spark.schemas import spark_schema
from lonnymq.spark.shift import COLUMNS, Plan, Registration, packed, work_shift
from lonnymq.worker import Handlers, Worker
from lonnymq.worker.handlers import hints_of
from lonnymq.worker.worker import count, lease

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

OPTIONS = ("batch", "retry_delays_ms", "retry_jitter", "max_attempts", "timeout_ms")


def run_shifts(
    spark: SparkSession,
    handlers: Worker | Handlers | Callable[..., Any],
    *,
    url: str | None = None,
    schema: str | None = None,
    tasks: int | None = None,
    duration: Duration = 60_000,
    until_empty: bool = False,
    concurrency: int | None = None,
    lease_ms: Duration | None = None,
    grace_ms: Duration | None = None,
) -> DataFrame:
    """Have executors take messages and run your handlers, for so long; a row for each message that was settled.

    `tasks` workers run at once, each with `concurrency` slots, leases and limits of its own; by default as many as the
    cluster runs at once. They end after `duration`, or with `until_empty` when there is nothing left that is due.
    `handlers` is a Worker, whose settings hold where nothing is said here, or one function for all messages.
    The work is done when the call returns: reading the rows, however often, does nothing to the queue.
    """
    plan = planned(
        worker_of(handlers),
        url=url,
        schema=schema,
        duration=duration,
        until_empty=until_empty,
        concurrency=concurrency,
        lease_ms=lease_ms,
        grace_ms=grace_ms,
    )
    look(plan)
    # Kept on the executors that had them: a lost one's rows are an error to read, and not a shift anew.
    return working(spark, plan, tasks).localCheckpoint(eager=True)


def look(plan: Plan) -> None:
    """Refuse a database that is out of reach, or has no queue, before any task starts."""
    try:
        with Queue(plan.dsn, schema=plan.schema) as queue:
            queue.worker_list(limit=1)
    except OperationalError as error:
        raise Unreachable(f"the database cannot be reached: {str(error).strip()}") from None


def working(spark: SparkSession, plan: Plan, tasks: int | None) -> DataFrame:
    """The rows of a shift, which is worked whenever they are read."""
    many = spark.sparkContext.defaultParallelism if tasks is None else count("tasks", tasks)
    return spark.range(0, many, 1, many).mapInArrow(work_shift(plan), spark_schema(COLUMNS))


def keep_working(
    spark: SparkSession, worker: Worker, *, tasks: int | None, until: Event, **options: Any
) -> Iterator[dict[str, int]]:
    """Shift after shift until told to stop; of each how many messages ended in which way, and no row is kept."""
    while not until.is_set():
        rows = working(spark, planned(worker_of(worker), **options), tasks)
        yield {row["answer"]: row["count"] for row in rows.groupBy("answer").count().collect()}


def planned(
    worker: Worker,
    *,
    url: str | None,
    schema: str | None = None,
    duration: Duration,
    until_empty: bool = False,
    concurrency: int | None = None,
    lease_ms: Duration | None = None,
    grace_ms: Duration | None = None,
) -> Plan:
    """What the tasks are told: what was said here, else what the worker says."""
    settings, dsn = worker.settings, url or worker.dsn
    if not dsn:
        raise InvalidArgument("run_shifts needs the url of the database: it is on other machines")
    length = milliseconds("duration", duration)
    return Plan(
        packed=packed(registrations(worker.handlers), worker.hooks),
        dsn=dsn,
        schema=settings.schema if schema is None else schema_name(schema),
        concurrency=settings.concurrency
        if concurrency is None
        else count("concurrency", concurrency),
        lease_ms=settings.lease_ms if lease_ms is None else lease(lease_ms),
        grace_ms=settings.grace_ms if grace_ms is None else milliseconds("grace_ms", grace_ms),
        ends_at=time.time() + length / 1000,
        seconds=length / 1000,
        until_empty=until_empty,
    )


def worker_of(handlers: Worker | Handlers | Callable[..., Any]) -> Worker:
    """A worker with the handlers that were given."""
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
                f"run_shifts takes a Worker, its handlers, or a function, not {type(handlers).__name__}"
            )
    if not len(worker.handlers):
        raise InvalidArgument("the worker has no handlers: register one with @worker.handler")
    return worker


def registrations(handlers: Iterable[Any]) -> tuple[Registration, ...]:
    """The handlers as they were registered: what reads their payloads is made anew on each executor."""
    return tuple(
        Registration(
            each.function,
            each.kind,
            {name: getattr(each, name) for name in OPTIONS},
            hints_of(each.function),
        )
        for each in handlers
    )
