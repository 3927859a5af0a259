"""`lonnymq spark-worker module:object`: run a worker's handlers on the executors of a Spark cluster."""

from __future__ import annotations

import logging
import signal
import sys
from threading import Event
from typing import TYPE_CHECKING, Annotated

import typer

from lonnymq.cli.errors import Code, CommandError, not_installed
from lonnymq.cli.output.logs import LogLevel, log_to_stderr
from lonnymq.cli.session import Session, command, group
from lonnymq.cli.worker_loader import worker_at
from lonnymq.cli.output.formatting import milliseconds
from lonnymq.errors import NotInstalled

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lonnymq.worker import Worker

logger = logging.getLogger("lonnymq.spark")

Target = Annotated[
    str, typer.Argument(metavar="MODULE:OBJECT", help="Where the Worker is, like jobs:worker.")
]
Master = Annotated[
    str | None,
    typer.Option(metavar="URL", help="The cluster, like spark://host:7077; else this machine."),
]
NumWorkers = Annotated[
    int | None,
    typer.Option(
        help="Number of workers at the same time. Default: the parallelism of the cluster.", min=1
    ),
]
DurationTime = Annotated[
    str,
    typer.Option(
        "--duration", metavar="TIME", help="How long each worker runs before its replacement."
    ),
]
Concurrency = Annotated[
    int | None, typer.Option(help="Number of messages at the same time in each worker.", min=1)
]
ShutdownTimeout = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="How long handlers may run on after the worker has ended."),
]
Conf = Annotated[
    list[str] | None,
    typer.Option(metavar="KEY=VALUE", help="A setting of Spark. You can repeat this option."),
]
Ship = Annotated[bool, typer.Option(help="Send the library to the executors.")]

app = group("Run a worker's handlers on Spark.")


@command(app)
def spark_worker(
    at: Session,
    target: Target,
    master: Master = None,
    num_workers: NumWorkers = None,
    duration: DurationTime = "10s",
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
    if at.common.schema is not None:
        raise CommandError(
            "The schema is said where the Worker is made: Worker(schema=...).", Code.USAGE
        )
    log_to_stderr(log_level, as_json=at.out.as_json)
    sys.path.insert(0, "")
    worker, until = worker_at(target), Event()
    by_value(worker)
    options = {"duration": span(duration, "--duration"), "concurrency": concurrency}
    if shutdown_timeout is not None:
        options["shutdown_timeout_ms"] = span(shutdown_timeout, "--shutdown-timeout")
    look(at, worker)
    spark = started(master, conf or [], is_shipped=ship)
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, lambda *_: until.set())
    try:
        serve(spark, worker, url=at.dsn, num_workers=num_workers, until=until, **options)
    finally:
        spark.stop()


def serve(
    spark: SparkSession,
    worker: Worker,
    *,
    url: str,
    num_workers: int | None,
    until: Event,
    **options: int | None,
) -> None:
    """Run workers and replace them until told to stop, and log the answers of each round."""
    from lonnymq.spark.cluster.runner import run_workers_until

    logger.info("workers started")
    rounds = run_workers_until(
        spark, worker, num_workers=num_workers, until=until, url=url, **options
    )
    for counts in rounds:
        answers = ", ".join(f"{many} {answer}" for answer, many in sorted(counts.items()))
        logger.info("workers ended: %s", answers or "no messages", extra={"answers": counts})
    logger.info("stopped")


def started(
    master: str | None, conf: list[str], *, is_shipped: bool, app: str = "lonnymq spark-worker"
) -> SparkSession:
    """A Spark session with the settings that were given."""
    try:
        from lonnymq.spark import session
        from lonnymq.spark.spark_session import send_library
    except ImportError as error:
        raise CommandError(f"{error}.") from None
    wrong = [each for each in conf if "=" not in each]
    if wrong:
        raise CommandError(f"'{wrong[0]}' is no setting: write key=value.", Code.USAGE)
    pairs = (each.partition("=") for each in conf)
    try:
        spark = session(master, app=app, config={key: each for key, _, each in pairs})
    except Exception as error:
        if not type(error).__module__.startswith(("py4j", "pyspark")):
            raise
        where = "" if master is None else f" at '{master}'"
        raise CommandError(f"Spark does not start{where}: {java_words(error)}.") from None
    is_local = str(spark.sparkContext.master).startswith("local")
    return send_library(spark) if is_shipped and not is_local else spark


def java_words(error: Exception) -> str:
    """What Java said, on one line; else what Python says of it."""
    java = getattr(error, "java_exception", None)
    said = str(java.getMessage() if java is not None else error).strip()
    return said.splitlines()[0].rstrip(".") if said else type(error).__name__


def by_value(worker: Worker) -> None:
    """Have the handlers' own modules sent to executors with them, where they could not be imported."""
    from pyspark.cloudpickle import register_pickle_by_value

    for name in {each.function.__module__ for each in worker.handlers}:
        if not name.startswith("lonnymq."):
            register_pickle_by_value(sys.modules[name])  # type: ignore[no-untyped-call]  # Spark's copy


def look(at: Session, worker: Worker) -> None:
    """Reject a database without the queue before a cluster is started."""
    from lonnymq.client import Queue

    if not len(worker.handlers):
        raise CommandError("The worker has no handlers: register one with @worker.handler.")
    try:
        with Queue(at.dsn, schema=worker.settings.schema) as queue:
            queue.worker_list(limit=1)
    except NotInstalled:
        raise CommandError(not_installed(worker.settings.schema), Code.NOT_INSTALLED) from None


def span(value: str, option: str) -> int:
    """A length of time in milliseconds."""
    try:
        return milliseconds(value)
    except ValueError as error:
        raise CommandError(f"{option}: {error}.", Code.USAGE) from None
