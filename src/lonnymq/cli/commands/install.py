"""`lonnymq install`: bring a database to this version of the queue."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated

import typer

from lonnymq.cli.session import Session, command, group

app = group("Install or upgrade the queue.")


@command(app)
def install(
    at: Session,
    roles: Annotated[
        bool | None,
        typer.Option(
            "--roles/--no-roles",
            help="Let roles do what each is for, and nobody else anything; unsaid, this stays.",
        ),
    ] = None,
) -> None:
    """Install the queue in its schema, or upgrade it; when all is in place nothing changes.

    It may be run at any time and by several at once: it is one transaction.
    """
    from lonnymq.cli.versions import installed, roles_at

    before, roles_before = installed(at), roles_at(at)
    with at.out.working(f"installing into schema {at.schema}"):
        at.queue.install(roles=roles)
    after = installed(at)
    answer = "installed" if before is None else "unchanged" if before == after else "upgraded"
    if answer == "unchanged" and roles_before != roles_at(at):
        answer = "granted" if roles else "revoked"
    document = {
        "answer": answer,
        "schema": at.schema,
        "version": version("lonnymq"),
        "before": before and before.library_version,
    }
    at.out.answer(document, lambda: f"{answer}: queue {version('lonnymq')} in schema {at.schema}")
