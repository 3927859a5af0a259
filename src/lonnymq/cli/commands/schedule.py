"""`lonnymq schedule`: schedules that create messages by cron line or interval."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from lonnymq.cli.errors import CommandError, unknown_name_error
from lonnymq.cli.options import Limit, Yes, argument, option, read_duration
from lonnymq.cli.output import format_timestamp, make_table, print_next_page
from lonnymq.cli.session import Session, command, create_group
from lonnymq.text import format_duration

if TYPE_CHECKING:
    from lonnymq.results import Schedule

Name = Annotated[str, argument("Name of the schedule.", "NAME")]

app = create_group("List, set, pause and run schedules.")


@command(app, "list")
def list_schedules(
    session: Session,
    after: Annotated[str | None, option("Start after this name.")] = None,
    limit: Limit = 100,
) -> None:
    """List schedules by name, with their last run and their next run."""
    found = session.queue.schedule_list(after=after, limit=limit)
    next_after = found[-1].name if len(found) == limit else None
    document = {"schedules": found, "next_after": next_after}
    session.out.print_result(document, lambda: render_schedules(found))
    print_next_page(session.out, "schedule list", next_after)


def render_schedules(found: list[Schedule]) -> Any:
    """A table of schedules."""
    if not found:
        return "No schedules. Declare schedules in your worker, or run: lonnymq schedule set"
    rows = (
        [
            each.name, format_rule(each), each.channel, each.kind,
            format_timestamp(each.last_run_at) if each.answer else None, each.answer,
            format_next_run(each),
        ]
        for each in found
    )  # fmt: skip
    return make_table("name", "when", "channel", "kind", "last run", "answer", "next", rows=rows)


def format_rule(schedule: Schedule) -> str:
    """The interval or the cron line of a schedule."""
    if schedule.every_ms is not None:
        return f"every {format_duration(schedule.every_ms)}"
    return f"{schedule.cron} ({schedule.timezone})"


def format_next_run(schedule: Schedule) -> str:
    """The time until the next run."""
    if schedule.paused:
        return "paused"
    if schedule.next_at is None:
        return "when a worker starts"
    late = schedule.now_at - schedule.next_at
    if late > 0:
        return f"overdue by {format_duration(late)}"
    return f"in {format_duration(-late)}"


@command(app, "run")
def run_schedule(session: Session, name: Name) -> None:
    """Create the message of a schedule now. The regular runs do not change."""
    ran = session.queue.schedule_run(name)
    if ran.answer == "not_found":
        raise unknown_name_error("schedule", name)
    session.out.print_result(
        {"schedule": name, "answer": ran.answer, "id": ran.id},
        lambda: f"{ran.answer}: {ran.id if ran.id is not None else name}",
    )
    if ran.answer == "rejected":
        raise CommandError("The message was not created: the channel is full or retiring.")


@command(app, "set")
def set_schedule(
    session: Session,
    name: Name,
    channel: Annotated[str, option("Channel of the messages.")],
    cron: Annotated[str | None, option("Cron line: '*/5 * * * *'.", metavar="LINE")] = None,
    every: Annotated[str | None, option("Interval: 30s, 2h.", metavar="TIME")] = None,
    timezone: Annotated[
        str, option("Timezone of the cron line, like Europe/Berlin.", metavar="ZONE")
    ] = "UTC",
    content: Annotated[str, option("Content of the messages, as text.")] = "",
    kind: Annotated[str | None, option("Kind of the messages.")] = None,
    misfire: Annotated[
        str, option("How many missed runs to make up for.", metavar="skip|once|all")
    ] = "once",
) -> None:
    """Create or change a schedule. Workers create the messages."""
    from lonnymq.worker import check_cron, check_zone

    check_zone(timezone)
    if cron is not None:
        check_cron(cron)
    answer = session.queue.schedule_set(
        name,
        channel=channel,
        cron=cron,
        every_ms=None if every is None else read_duration(every, "--every"),
        timezone=timezone,
        content=content.encode(),
        kind=kind,
        misfire=misfire,  # type: ignore[arg-type]  # the queue checks the value
    )
    session.print_answer("schedule", name, answer)


@command(app, "pause")
def pause_schedule(session: Session, name: Name) -> None:
    """Pause a schedule until you resume the schedule."""
    session.print_answer("schedule", name, session.queue.schedule_pause(name))


@command(app, "resume")
def resume_schedule(session: Session, name: Name) -> None:
    """Resume a paused schedule."""
    session.print_answer("schedule", name, session.queue.schedule_resume(name))


@command(app, "delete")
def delete_schedule(session: Session, name: Name, yes: Yes = False) -> None:
    """Delete a schedule. The messages of the schedule stay."""
    session.confirm(f"This will delete the schedule '{name}'. The messages stay.", yes=yes)
    session.print_answer("schedule", name, session.queue.schedule_delete(name))
