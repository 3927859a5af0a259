"""`lonnymq worker` and `lonnymq spark-worker`: run a worker of your code, here or on a Spark cluster."""

from __future__ import annotations

import logging
import os
import signal
import sys
import traceback
from dataclasses import replace
from difflib import get_close_matches
from importlib import import_module
from threading import Event
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any, Literal

from lonnymq.cli.errors import Code, CommandError, missing_queue_error, no_database_error
from lonnymq.cli.options import WorkerAddress, option, read_duration
from lonnymq.cli.output import LogLevel, log_to_stderr
from lonnymq.cli.session import Conf, Master, Session, Ship, command, create_group, open_spark
from lonnymq.errors import NotInstalled

if TYPE_CHECKING:
    from lonnymq.worker import Worker

logger = logging.getLogger("lonnymq.spark")

Concurrency = Annotated[
    int | None,
    option("Number of messages that run at the same time in each worker process.", min=1),
]
Processes = Annotated[int | None, option("Number of processes.", min=1)]
ShutdownTimeout = Annotated[
    str | None, option("Time for running handlers to end after the worker stops.", metavar="TIME")
]
Metrics = Annotated[
    str | None, option("Serve /metrics, /health and /ready on a port or HOST:PORT.", metavar="PORT")
]
LogErrors = Annotated[
    Literal["location", "text", "traceback"] | None,
    option(
        "How much of an error to log: location, text or traceback. Text and traceback may quote a payload.",
        "--log-errors",
        metavar="PART",
    ),
]
Kinds = Annotated[
    list[str] | None,
    option(
        "Take only messages of this kind, of the kinds that have a handler. Repeat the option for more kinds.",
        "--kind",
    ),
]
Channels = Annotated[
    list[str] | None,
    option("Take only messages of this channel. Repeat the option for more channels.", "--channel"),
]
NumWorkers = Annotated[
    int | None,
    option("Number of workers at the same time. Default: the parallelism of the cluster.", min=1),
]
Duration = Annotated[
    str, option("How long each worker runs before its replacement.", metavar="TIME")
]

app = create_group("Run a worker.")
spark_app = create_group("Run a worker's handlers on Spark.")


@command(app)
def worker(
    session: Session,
    address: WorkerAddress,
    concurrency: Concurrency = None,
    processes: Processes = None,
    shutdown_timeout: ShutdownTimeout = None,
    kinds: Kinds = None,
    channels: Channels = None,
    metrics: Metrics = None,
    log_level: LogLevel = "info",
    log_errors: LogErrors = None,
) -> None:
    """Run the Worker called OBJECT in MODULE until SIGTERM or Ctrl-C.

    The command searches the current folder for the module first. The worker logs to standard error, with --json a
    JSON document per line. On SIGTERM the worker takes no new messages, lets running handlers end within the shutdown
    timeout, gives the other messages back, and the command exits with 0. A second signal gives all messages back at
    once.
    """
    log_to_stderr(log_level, as_json=session.out.as_json)
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        # a worker stops the same way when its terminal closes
        signal.signal(signal.SIGHUP, lambda *_: os.kill(os.getpid(), signal.SIGTERM))
    loaded = load_worker(address, session)
    if log_errors is not None:
        loaded.settings = replace(loaded.settings, log_errors=log_errors)
    loaded.embedded = loaded.embedded or session.common.embedded
    if not (session.common.has_database or loaded.dsn or loaded.embedded):
        raise no_database_error()
    timeout_ms = (
        None if shutdown_timeout is None else read_duration(shutdown_timeout, "--shutdown-timeout")
    )
    try:
        loaded.run(
            session.common.dsn,
            concurrency=concurrency,
            processes=processes,
            shutdown_timeout_ms=timeout_ms,
            kinds=kinds,
            channels=channels,
            metrics=metrics,
        )
    except NotInstalled:
        raise missing_queue_error(loaded.settings.schema) from None


@command(spark_app)
def spark_worker(
    session: Session,
    address: WorkerAddress,
    master: Master = None,
    num_workers: NumWorkers = None,
    duration: Duration = "10s",
    concurrency: Concurrency = None,
    shutdown_timeout: ShutdownTimeout = None,
    kinds: Kinds = None,
    channels: Channels = None,
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
    options: dict[str, Any] = {
        "duration": read_duration(duration, "--duration"),
        "concurrency": concurrency,
    }
    options |= {"kinds": kinds, "channels": channels}
    if shutdown_timeout is not None:
        options["shutdown_timeout_ms"] = read_duration(shutdown_timeout, "--shutdown-timeout")
    check_worker(session, worker)
    with open_spark(master, conf, ship=ship, app="lonnymq spark-worker") as spark:
        from lonnymq.spark.cluster.runner import run_workers_until

        for each in (signal.SIGTERM, signal.SIGINT):
            signal.signal(each, lambda *_: until.set())
        logger.info("workers started")
        for counts in run_workers_until(
            spark, worker, num_workers=num_workers, until=until, url=session.dsn, **options
        ):
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


def load_worker(address: str, session: Session) -> Worker:
    """The worker at an address; the current folder is searched first."""
    from lonnymq.worker import Worker

    if session.common.schema is not None:
        raise CommandError(
            "Set the schema in your code, not with --schema: Worker(schema=...).", Code.USAGE
        )
    sys.path.insert(0, "")
    name, _, path = address.partition(":")
    if not name or not path:
        raise CommandError(
            f"'{address}' is not an address of a worker: write module:object, like jobs:worker.",
            Code.USAGE,
        )
    found: object = load_module(name)
    for part in path.split("."):
        found = get_part(found, part, address)
    if not isinstance(found, Worker):
        raise CommandError(
            f"{address} is not a lonnymq.Worker, but of type {type(found).__name__}."
        )
    return found


def load_module(name: str) -> ModuleType:
    """Import a module of the user, or raise why and where the import fails."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            raise CommandError(
                f"There is no module '{error.name}' in this folder or on Python's path. Run the command in "
                "the folder of the module, or set PYTHONPATH."
            ) from None
        raise import_failure(name, error) from None
    except (Exception, SystemExit) as error:
        raise import_failure(name, error) from None


def import_failure(name: str, error: BaseException) -> CommandError:
    """The error of a failed import, with its file and line."""
    lines = str(error).strip().splitlines()
    location = find_location(error)
    suffix = f" ({location})" if location and location not in "".join(lines) else ""
    reason = f"{type(error).__name__}: {lines[0] if lines else ''}"
    return CommandError(f"Module '{name}' cannot be imported: {reason}{suffix}")


def find_location(error: BaseException) -> str | None:
    """The last file and line of the user's code, not of Python or of the library."""
    if isinstance(error, SyntaxError):
        return f"{error.filename}, line {error.lineno}"
    own = [
        each
        for each in traceback.extract_tb(error.__traceback__)
        if "importlib" not in each.filename
        and "site-packages" not in each.filename
        and "/lonnymq/" not in each.filename
    ]
    return f"{own[-1].filename}, line {own[-1].lineno}" if own else None


def get_part(whole: object, name: str, address: str) -> object:
    """An attribute of a module or of an object."""
    try:
        return getattr(whole, name)
    except AttributeError:
        like = get_close_matches(name, [each for each in dir(whole) if not each.startswith("_")])
        guess = f" Did you mean '{like[0]}'?" if like else ""
        raise CommandError(f"There is no '{name}' at {address}.{guess}") from None
