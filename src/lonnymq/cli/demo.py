"""`lonnymq demo`: the show of the queue at work, on a private server."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lonnymq.cli.refusals import Code, Refused
from lonnymq.cli.session import Session, command, group

app = group("Show the queue at work.")


@command(app)
def demo(
    at: Session,
    keep: Annotated[
        bool, typer.Option("--keep", help="Leave it running at the end, to play with.")
    ] = False,
    spark: Annotated[
        bool,
        typer.Option(
            "--spark", help="Show Spark at the end, and make a report, which takes a minute more."
        ),
    ] = False,
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Where the report is kept; else among this user's data.",
            dir_okay=False,
        ),
    ] = None,
) -> None:
    """Show a video service at work on a private server: a tenant that floods it, limits, a killed worker.

    It counts what it claims, and ends with 1 if a promise was not kept. With --spark, Spark puts a DataFrame into a
    queue and a queue into a table, and a report of the show is made, to be opened in a browser.
    """
    from importlib import import_module

    if at.common.dsn is not None:
        raise Refused("The demo runs on a private server of its own: leave --dsn out.", Code.USAGE)
    if report is not None and not spark:
        raise Refused("A report is made with --spark: say both.", Code.USAGE)
    if spark:
        try:
            import_module("lonnymq.spark.java").find_java()
        except ImportError as error:
            raise Refused(f"{error}.") from None
    file = None if report is None else report.absolute()
    code = import_module("lonnymq.demo").run(keep=keep, spark=spark, report=file)
    raise typer.Exit(int(code or 0))
