"""`lonnymq install` and `lonnymq sql`: install or upgrade the queue, or print the script that does."""

from __future__ import annotations

import sys
from dataclasses import replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Annotated

import typer

from lonnymq.cli.session import Session, command, create_group
from lonnymq.errors import NotInstalled

if TYPE_CHECKING:
    from lonnymq.results import Installed

Roles = Annotated[
    bool | None,
    typer.Option(
        "--roles/--no-roles",
        help="Grant rights to the queue's roles and to nobody else, or remove these grants. Default: no change.",
    ),
]

app = create_group("Install or upgrade the queue.")
sql_app = create_group("Print the script that installs the queue.")


@command(app)
def install(session: Session, roles: Roles = None) -> None:
    """Install the queue in its schema, or upgrade the queue.

    You can run this command at any time and several times at once, because the command is a single transaction.
    """
    before = read_installation(session)
    with session.out.show_status(f"installing into schema {session.schema}"):
        session.queue.install(roles=roles)
    after = session.queue.installed()
    answer = compare_installations(before, after)
    document = {
        "answer": answer,
        "schema": session.schema,
        "version": version("lonnymq"),
        "before": before and before.library_version,
    }
    session.out.print_result(
        document, lambda: f"{answer}: queue {version('lonnymq')} in schema {session.schema}"
    )


def read_installation(session: Session) -> Installed | None:
    """The installed version; None without a queue."""
    try:
        return session.queue.installed()
    except NotInstalled:
        return None


def compare_installations(before: Installed | None, after: Installed) -> str:
    """What the installation has changed, in a word."""
    if before is None:
        return "installed"
    if replace(before, roles=after.roles) != after:
        return "upgraded"
    if before.roles != after.roles:
        return "granted" if after.roles else "revoked"
    return "unchanged"


@command(sql_app)
def sql(session: Session, roles: Roles = None) -> None:
    """Print the SQL script that does the same as install, for psql -v ON_ERROR_STOP=1.

    You need no server to print the script. You can run the script again without any effect.
    """
    from lonnymq.client import install_script

    text = install_script(session.schema, roles=roles)
    if session.out.as_json:
        session.out.print_json({"schema": session.schema, "script": text})
    else:
        sys.stdout.write(text)
