"""`lonnymq sql`: print the script that installs the queue, for those who change schemas by other means."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from lonnymq.cli.session import Session, command, group

app = group("Print the script that installs the queue.")


@command(app)
def sql(
    at: Session,
    roles: Annotated[
        bool | None,
        typer.Option("--roles/--no-roles", help="With the grants to roles, or without any."),
    ] = None,
) -> None:
    """Print the script that does what install does, for psql -v ON_ERROR_STOP=1; no server is needed.

    The script may be run again: it then changes nothing.
    """
    from lonnymq.client import install_script

    text = install_script(at.schema, roles=roles)
    if at.out.as_json:
        at.out.line({"schema": at.schema, "script": text})
    else:
        sys.stdout.write(text)
