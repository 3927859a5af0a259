"""`lonnymq worker module:object`: run a worker that a program has defined."""

from __future__ import annotations

import os
import signal
import sys
from typing import Annotated

import typer

from lonnymq.cli.errors import Code, CommandError, not_installed
from lonnymq.cli.output.logs import LogLevel, log_to_stderr
from lonnymq.cli.session import Session, command, group
from lonnymq.cli.worker_loader import worker_at
from lonnymq.cli.output.formatting import milliseconds
from lonnymq.errors import NotInstalled

Target = Annotated[
    str, typer.Argument(metavar="MODULE:OBJECT", help="Where the Worker is, like jobs:worker.")
]
Concurrency = Annotated[
    int | None, typer.Option(help="So many messages at once in a process.", min=1)
]
Processes = Annotated[int | None, typer.Option(help="So many processes.", min=1)]
ShutdownTimeout = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="Time for running handlers to end after SIGTERM."),
]
Metrics = Annotated[
    str | None,
    typer.Option(
        metavar="PORT", help="Answer /metrics, /health and /ready at a port or HOST:PORT."
    ),
]

app = group("Run a worker.")


@command(app)
def worker(
    at: Session,
    target: Target,
    concurrency: Concurrency = None,
    processes: Processes = None,
    shutdown_timeout: ShutdownTimeout = None,
    metrics: Metrics = None,
    log_level: LogLevel = "info",
) -> None:
    """Run the worker that is called OBJECT in MODULE, until SIGTERM or Ctrl-C.

    The folder in which you are is searched for the module first. What the worker says goes to standard error, with
    --json as a JSON document a line. On SIGTERM it takes nothing new, finishes what it has within the shutdown timeout,
    gives the rest back, and ends with 0; a second signal gives all back at once.
    """
    if at.common.schema is not None:
        raise CommandError(
            "The schema is said where the Worker is made: Worker(schema=...).", Code.USAGE
        )
    log_to_stderr(log_level, as_json=at.out.as_json)
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        signal.signal(signal.SIGHUP, stop)
    sys.path.insert(0, "")
    found = worker_at(target)
    try:
        found.run(
            at.common.dsn,
            concurrency=concurrency,
            processes=processes,
            shutdown_timeout_ms=read_duration(shutdown_timeout),
            metrics=metrics,
        )
    except NotInstalled:
        raise CommandError(not_installed(found.settings.schema), Code.NOT_INSTALLED) from None


def stop(*_: object) -> None:
    """When its terminal is closed a worker stops as it does when it is told to."""
    os.kill(os.getpid(), signal.SIGTERM)


def read_duration(text: str | None) -> int | None:
    """Return a duration in milliseconds."""
    try:
        return None if text is None else milliseconds(text)
    except ValueError as error:
        raise CommandError(f"{error}.", Code.USAGE) from None
