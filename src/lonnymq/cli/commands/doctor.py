"""`lonnymq doctor`: check the server and the queue, and say what to do about what is found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from lonnymq.cli.confirmation import sure
from lonnymq.cli.errors import Code, CommandError, not_installed
from lonnymq.cli.options import Yes
from lonnymq.cli.session import Session, command, group
from lonnymq.cli.versions import open_connection
from lonnymq.cli.output.formatting import counted, milliseconds, readable

if TYPE_CHECKING:
    from lonnymq.doctor import Report

SIGNS = {"note": ("·", "cyan"), "warning": ("!", "yellow"), "broken": ("x", "red")}

app = group("Check the server and the queue.")


@command(app)
def doctor(
    at: Session,
    repair: Annotated[
        bool, typer.Option("--repair", help="Mend broken invariants, sweep, and check again.")
    ] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Leave out what reads every message.")
    ] = False,
    patience: Annotated[
        str, typer.Option(metavar="TIME", help="How long a thing may stand still.")
    ] = "5m",
    yes: Yes = False,
) -> None:
    """Check the queue for problems and print the fix for each.

    Ends with 1 if there are warnings or worse, with 0 if there is nothing but notes.
    """
    from lonnymq.doctor import repair as repair_queue

    if repair:
        sure(
            f"This will mend broken counts and places of the queue in schema {at.schema}, and sweep; "
            "no message is deleted.",
            yes=yes,
        )
    mended: Any = None
    with open_connection(at) as connection:
        if repair:
            mended = repair_queue(connection, schema=at.schema)
        report = examined(at, connection, patience, quick=quick)
    document = {
        "healthy": report.healthy,
        "problems": report.problems,
        "checked": report.checked,
        "mended": None if mended is None else {"repairs": mended[0], "swept": mended[1]},
    }
    at.out.answer(document, lambda: page(report, mended))
    if "installed" in {each.check for each in report.problems if each.level == "broken"}:
        raise CommandError(not_installed(at.schema), Code.NOT_INSTALLED)
    if not report.healthy:
        raise typer.Exit(Code.REJECTED)


def examined(at: Session, connection: Any, patience: str, *, quick: bool) -> Report:
    """The examination, with a bar that says which check is being made."""
    from lonnymq.doctor import run_checks
    from lonnymq.doctor.checkup import CHECKS

    try:
        wait = milliseconds(patience)
    except ValueError as error:
        raise CommandError(f"{error}.", Code.USAGE) from None
    with at.out.progress() as progress:
        task = progress.add_task("checking", total=len(CHECKS))

        def tell(name: str) -> None:
            progress.update(task, advance=1, description=f"checking {name}")

        return run_checks(
            connection, schema=at.schema, stuck_after=wait, quick=quick, progress=tell
        )


def page(report: Report, mended: Any) -> Any:
    """The findings, the worst first, and a last line that sums them up."""
    from rich.console import Group
    from rich.text import Text

    parts: list[Text] = []
    for each in mended[0] if mended else ():
        where = f" in channel '{each.channel}'" if each.channel is not None else ""
        parts.append(
            Text(readable(f"mended: {each.invariant}{where}, {each.detail}"), style="green")
        )
    levels = list(SIGNS)
    for each in sorted(report.problems, key=lambda found: -levels.index(found.level)):
        sign, colour = SIGNS[each.level]
        parts.append(
            Text.assemble((f"{sign} {each.check}: ", f"bold {colour}"), readable(each.message))
        )
        if each.fix:
            parts.append(Text.assemble("    ", (readable(each.fix), "bold")))
    parts.append(Text(summary(report)))
    return Group(*parts)


def summary(report: Report) -> str:
    """How many checks, and what came of them."""
    counts = [sum(each.level == level for each in report.problems) for level in SIGNS]
    notes, warnings, broken = counts
    if not report.problems:
        return f"{len(report.checked)} checks, all is well."
    parts = [f"{broken} broken", counted(warnings, "warning"), counted(notes, "note")]
    return f"{len(report.checked)} checks: {', '.join(parts)}."
