"""`lonnymq schedule`: messages that are created again and again, by cron line or interval."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lonnymq.cli.confirmation import sure
from lonnymq.cli.errors import Code, CommandError
from lonnymq.cli.options import Yes
from lonnymq.cli.output.console import rows, table
from lonnymq.cli.session import Session, command, group
from lonnymq.cli.output.formatting import at as moment_words
from lonnymq.cli.output.formatting import milliseconds, readable
from lonnymq.text import format_duration

if TYPE_CHECKING:
    from lonnymq.results import Misfire, Schedule

    Misfire = Misfire

Name = Annotated[str, typer.Argument(metavar="NAME", help="The schedule's name.")]

app = group("Schedules: messages that are created again and again.")


@command(app, "list")
def list_schedules(
    at: Session,
    after: Annotated[str | None, typer.Option(help="Begin after this name.")] = None,
    limit: Annotated[int, typer.Option(help="So many at most.", min=1, max=10_000)] = 100,
) -> None:
    """List the schedules by name: when they run, when they did last, when they will next."""
    found = at.queue.schedule_list(after=after, limit=limit)
    more = found[-1].name if len(found) == limit else None
    at.out.answer({"schedules": found, "next_after": more}, lambda: schedule_table(found))
    if more is not None:
        at.out.note(f"There may be more: lonnymq schedule list --after {quote(readable(more))}")


def schedule_table(found: list[Schedule]) -> Any:
    """Schedules as people see them."""
    if not found:
        return "No schedules. A worker's code declares them, or: lonnymq schedule set"
    made = table("name", "when", "channel", "kind", "last run", "answer", "next")
    lines = (
        [
            each.name, when(each), each.channel, each.kind,
            moment_words(each.last_run_at) if each.answer else None, each.answer, upcoming(each),
        ]
        for each in found
    )  # fmt: skip
    return rows(made, lines)


def when(schedule: Schedule) -> str:
    """The rule of a schedule in words."""
    if schedule.every_ms is not None:
        return f"every {format_duration(schedule.every_ms)}"
    return f"{schedule.cron} ({schedule.timezone})"


def upcoming(schedule: Schedule) -> str:
    """When it runs next."""
    if schedule.paused:
        return "paused"
    if schedule.next_at is None:
        return "when a worker looks"
    late = schedule.now_at - schedule.next_at
    if late > 0:
        return f"overdue by {format_duration(late)}"
    return f"in {format_duration(-late)}"


@command(app)
def run(at: Session, name: Name) -> None:
    """Create a schedule's message now, beside its runs."""
    ran = at.queue.schedule_run(name)
    if ran.answer == "not_found":
        raise unknown(name)
    at.out.answer(
        {"schedule": name, "answer": ran.answer, "id": ran.id},
        lambda: f"{ran.answer}: {ran.id if ran.id is not None else name}",
    )
    if ran.answer == "rejected":
        raise CommandError("The channel is full or being released: nothing was created.")


@command(app, "set")
def set_schedule(
    at: Session,
    name: Name,
    channel: Annotated[str, typer.Option(help="The channel of its messages.")],
    cron: Annotated[
        str | None, typer.Option(metavar="LINE", help="A cron line: '*/5 * * * *'.")
    ] = None,
    every: Annotated[str | None, typer.Option(metavar="TIME", help="An interval: 30s, 2h.")] = None,
    timezone: Annotated[
        str, typer.Option(help="The time zone of the cron line, like Europe/Berlin.")
    ] = "UTC",
    content: Annotated[str, typer.Option(help="The content of its messages, as text.")] = "",
    kind: Annotated[str | None, typer.Option(help="The kind of its messages.")] = None,
    misfire: Annotated[
        str, typer.Option(metavar="skip|once|all", help="What becomes of runs that were misfire.")
    ] = "once",
) -> None:
    """Make a schedule, or change it; workers create its messages."""
    from lonnymq.worker import check_cron, check_zone

    check_zone(timezone)
    if cron is not None:
        check_cron(cron)
    answer = at.queue.schedule_set(
        name,
        channel=channel,
        cron=cron,
        every_ms=interval(every),
        timezone=timezone,
        content=content.encode(),
        kind=kind,
        misfire=misfire,  # type: ignore[arg-type]  # the queue judges the word
    )
    at.out.answer({"schedule": name, "answer": answer}, lambda: f"{answer}: {name}")


def interval(every: str | None) -> int | None:
    """An interval in milliseconds."""
    try:
        return None if every is None else milliseconds(every)
    except ValueError as error:
        raise CommandError(f"{error}.", Code.USAGE) from None


@command(app)
def pause(at: Session, name: Name) -> None:
    """Let a schedule rest: no runs until it is resumed."""
    tell(at, name, at.queue.schedule_pause(name))


@command(app)
def resume(at: Session, name: Name) -> None:
    """Let a paused schedule run again."""
    tell(at, name, at.queue.schedule_resume(name))


@command(app)
def delete(at: Session, name: Name, yes: Yes = False) -> None:
    """Delete a schedule; messages that it has created stay."""
    sure(f"This will delete the schedule '{name}'; its messages stay.", yes=yes)
    tell(at, name, at.queue.schedule_delete(name))


def tell(at: Session, name: str, answer: str) -> None:
    """Answer with the word that the queue answered, or say that there is no such schedule."""
    if answer == "not_found":
        raise unknown(name)
    at.out.answer(
        {"schedule": name, "answer": answer}, lambda: f"{answer.replace('_', ' ')}: {name}"
    )


def unknown(name: str) -> CommandError:
    """The rejection for a schedule that nobody knows."""
    return CommandError(
        f"There is no schedule '{name}'. See which there are: lonnymq schedule list"
    )
