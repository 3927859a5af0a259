"""Questions before something is deleted: what will be done, to how many, and whether to go on."""

from __future__ import annotations

import sys

import typer

from lonnymq.cli.errors import Code, CommandError


def sure(what: str, *, yes: bool) -> None:
    """Return if it may be done; `what` is a sentence that begins 'This will …'."""
    if yes:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise CommandError(
            f"{what} Nothing was done: there is no terminal to ask at. Add --yes to do it.",
            Code.REJECTED,
        )
    if not typer.confirm(f"{what} Go on?", err=True):
        raise CommandError("Nothing was done.")
