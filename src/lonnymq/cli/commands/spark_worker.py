"""`lonnymq spark-worker module:object`: run a worker's handlers on the executors of a Spark cluster."""

from __future__ import annotations

import logging
import signal
import sys
from threading import Event
from typing import TYPE_CHECKING, Annotated

import typer

from lonnymq.cli.errors import CommandError, missing_queue_error
from lonnymq.cli.options import WorkerAddress, read_duration
from lonnymq.cli.output.logs import LogLevel, log_to_stderr
from lonnymq.cli.session import Session, command, create_group
from lonnymq.cli.spark_session import Conf, Master, Ship, start_spark
from lonnymq.cli.worker_loader import load_worker
from lonnymq.errors import NotInstalled

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lonnymq.worker import Worker

logger = logging.getLogger("lonnymq.spark")

NumWorkers = Annotated[
    int | None,
    typer.Option(
        help="Number of workers at the same time. Default: the parallelism of the cluster.", min=1
    ),
]
Duration = Annotated[
    str, typer.Option(metavar="TIME", help="How long each worker runs before its replacement.")
]
Concurrency = Annotated[
    int | None, typer.Option(help="Number of messages at the same time in each worker.", min=1)
]
ShutdownTimeout = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="How long handlers may run on after the worker has ended."),
]

app = create_group("Run a worker's handlers on Spark.")


@command(app)
def spark_worker(
    session: Session,
    address: WorkerAddress,
    master: Master = None,
    num_workers: NumWorkers = None,
    duration: Duration = "10s",
    concurrency: Concurrency = None,
    shutdown_timeout: ShutdownTimeout = None,
    conf: Conf = None,
    ship: Ship = True,
    log_level: LogLevel = "info",
) -> None:
    """Run the handlers of the Worker called OBJECT in MODULE on a Spark cluster, until SIGTERM or Ctrl-C.

    Workers on the executors take and settle messages. New workers replace them after --duration, and the command logs
    the number of messages per answer.
    On SIGTERM the running workers are the last, and the command exits with 0.
    The command sends MODULE to the executors. Send your other modules with --conf spark.submit.pyFiles.
    """
    log_to_stderr(log_level, as_json=session.out.as_json)
    worker, until = load_worker(address, session), Event()
    send_modules(worker)
    options = {"duration": read_duration(duration, "--duration"), "concurrency": concurrency}
    if shutdown_timeout is not None:
        options["shutdown_timeout_ms"] = read_duration(shutdown_timeout, "--shutdown-timeout")
    check_worker(session, worker)
    spark = start_spark(master, conf, ship=ship, app="lonnymq spark-worker")
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, lambda *_: until.set())
    try:
        run_rounds(spark, worker, url=session.dsn, num_workers=num_workers, until=until, **options)
    finally:
        spark.stop()


def run_rounds(
    spark: SparkSession,
    worker: Worker,
    *,
    url: str,
    num_workers: int | None,
    until: Event,
    **options: int | None,
) -> None:
    """Run workers and replace them until the event is set, and log the answers of each round."""
    from lonnymq.spark.cluster.runner import run_workers_until

    logger.info("workers started")
    rounds = run_workers_until(
        spark, worker, num_workers=num_workers, until=until, url=url, **options
    )
    for counts in rounds:
        answers = ", ".join(f"{count} {answer}" for answer, count in sorted(counts.items()))
        logger.info("workers ended: %s", answers or "no messages", extra={"answers": counts})
    logger.info("stopped")


def send_modules(worker: Worker) -> None:
    """Send the modules of the handlers to the executors, which cannot import them."""
    from pyspark.cloudpickle import register_pickle_by_value

    for name in {each.function.__module__ for each in worker.handlers}:
        if not name.startswith("lonnymq."):
            register_pickle_by_value(sys.modules[name])  # type: ignore[no-untyped-call]  # Spark's copy


def check_worker(session: Session, worker: Worker) -> None:
    """Reject a worker without handlers and a database without the queue before a cluster starts."""
    from lonnymq.client import Queue

    if not len(worker.handlers):
        raise CommandError("The worker has no handlers: register a handler with @worker.handler.")
    try:
        with Queue(session.dsn, schema=worker.settings.schema) as queue:
            queue.worker_list(limit=1)
    except NotInstalled:
        raise missing_queue_error(worker.settings.schema) from None
