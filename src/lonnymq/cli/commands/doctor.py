"""`lonnymq doctor`: check the server and the queue, and print the fix for each problem."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from lonnymq.cli.errors import Code, missing_queue_error
from lonnymq.cli.options import Yes, option, read_duration
from lonnymq.cli.output import escape_controls
from lonnymq.cli.session import Session, command, create_group
from lonnymq.text import format_count

if TYPE_CHECKING:
    from lonnymq.doctor import Report

LEVELS = {"broken": ("x", "red"), "warning": ("!", "yellow"), "note": ("·", "cyan")}

app = create_group("Check the server and the queue.")


@command(app)
def doctor(
    session: Session,
    repair: Annotated[
        bool, option("Repair broken invariants and run maintenance before the checks.", "--repair")
    ] = False,
    quick: Annotated[bool, option("Skip the checks that read every message.", "--quick")] = False,
    stuck_after: Annotated[
        str,
        option(
            "How long a message or run may not move before a check reports the problem.",
            metavar="TIME",
        ),
    ] = "5m",
    yes: Yes = False,
) -> None:
    """Check the queue for problems and print the fix for each problem.

    The exit code is 1 if there are warnings or worse problems, and 0 if there are only notes.
    """
    from lonnymq.doctor import repair as repair_queue

    if repair:
        session.confirm(
            f"This will repair broken counts and positions of the queue in schema {session.schema} "
            "and run maintenance. No message is deleted.",
            yes=yes,
        )
    repaired: Any = None
    with session.connect() as connection:
        if repair:
            repaired = repair_queue(connection, schema=session.schema)
        report = run_checks_with_progress(
            session, connection, read_duration(stuck_after, "--stuck-after"), quick=quick
        )
    document = {
        "healthy": report.healthy,
        "problems": report.problems,
        "checked": report.checked,
        "repaired": repaired and {"repairs": repaired[0], "maintenance": repaired[1]},
    }
    session.out.print_result(document, lambda: render_report(report, repaired))
    if any(each.level == "broken" and each.check == "installed" for each in report.problems):
        raise missing_queue_error(session.schema)
    if not report.healthy:
        raise typer.Exit(Code.REJECTED)


def run_checks_with_progress(
    session: Session, connection: Any, stuck_after: int, *, quick: bool
) -> Report:
    """Run the checks with a progress bar that names the current check."""
    from lonnymq.doctor import run_checks
    from lonnymq.doctor.checkup import CHECKS

    with session.out.progress() as progress:
        task = progress.add_task("checking", total=len(CHECKS))
        return run_checks(
            connection,
            schema=session.schema,
            stuck_after=stuck_after,
            quick=quick,
            progress=lambda name: progress.update(task, advance=1, description=f"checking {name}"),
        )


def render_report(report: Report, repaired: Any) -> Any:
    """The repairs, the problems with the worst first, and a summary."""
    from rich.console import Group
    from rich.text import Text

    parts: list[Text] = []
    for each in repaired[0] if repaired else ():
        where = f" in channel '{each.channel}'" if each.channel is not None else ""
        text = f"repaired: {each.invariant}{where}, {each.detail}"
        parts.append(Text(escape_controls(text), style="green"))
    for level, (sign, color) in LEVELS.items():
        for each in report.problems:
            if each.level == level:
                title = (f"{sign} {each.check}: ", f"bold {color}")
                parts.append(Text.assemble(title, escape_controls(each.message)))
                if each.fix:
                    parts.append(Text.assemble("    ", (escape_controls(each.fix), "bold")))
    return Group(*parts, Text(summarize(report)))


def summarize(report: Report) -> str:
    """The number of checks and of problems."""
    if not report.problems:
        return f"{len(report.checked)} checks, no problems."
    levels = [each.level for each in report.problems]
    return (
        f"{len(report.checked)} checks: {levels.count('broken')} broken, "
        f"{format_count(levels.count('warning'), 'warning')}, {format_count(levels.count('note'), 'note')}."
    )
