"""`lonnymq worker module:object`: run a worker of your code."""

from __future__ import annotations

import os
import signal
from typing import Annotated

import typer

from lonnymq.cli.errors import missing_queue_error
from lonnymq.cli.options import WorkerAddress, read_duration
from lonnymq.cli.output.logs import LogLevel, log_to_stderr
from lonnymq.cli.session import Session, command, create_group
from lonnymq.cli.worker_loader import load_worker
from lonnymq.errors import NotInstalled

Concurrency = Annotated[
    int | None,
    typer.Option(help="Number of messages that run at the same time in a process.", min=1),
]
Processes = Annotated[int | None, typer.Option(help="Number of processes.", min=1)]
ShutdownTimeout = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="Time for running handlers to end after SIGTERM."),
]
Metrics = Annotated[
    str | None,
    typer.Option(metavar="PORT", help="Serve /metrics, /health and /ready on a port or HOST:PORT."),
]

app = create_group("Run a worker.")


@command(app)
def worker(
    session: Session,
    address: WorkerAddress,
    concurrency: Concurrency = None,
    processes: Processes = None,
    shutdown_timeout: ShutdownTimeout = None,
    metrics: Metrics = None,
    log_level: LogLevel = "info",
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
    timeout_ms = (
        None if shutdown_timeout is None else read_duration(shutdown_timeout, "--shutdown-timeout")
    )
    try:
        loaded.run(
            session.common.dsn,
            concurrency=concurrency,
            processes=processes,
            shutdown_timeout_ms=timeout_ms,
            metrics=metrics,
        )
    except NotInstalled:
        raise missing_queue_error(loaded.settings.schema) from None
