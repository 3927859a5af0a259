"""`lonnymq demo`: the show of the queue at work, on a private server."""

from __future__ import annotations

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
        bool, typer.Option("--spark", help="Show Spark at the end, which takes half a minute more.")
    ] = False,
) -> None:
    """Show a video service at work on a private server: a tenant that floods it, limits, a killed worker.

    It counts what it claims, and ends with 1 if a promise was not kept.
    """
    from importlib import import_module

    if at.common.dsn is not None:
        raise Refused("The demo runs on a private server of its own: leave --dsn out.", Code.USAGE)
    if spark:
        try:
            import_module("lonnymq.spark")
        except ImportError as error:
            raise Refused(f"{error}.") from None
    code = import_module("lonnymq.demo").run(keep=keep, spark=spark)
    raise typer.Exit(int(code or 0))
