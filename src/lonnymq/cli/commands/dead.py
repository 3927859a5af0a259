"""`lonnymq dead`: messages that ran out of attempts, to look at, to let live again, to delete."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from lonnymq.cli.confirmation import sure
from lonnymq.cli.commands.dead_choice import Choice
from lonnymq.cli.errors import CommandError
from lonnymq.cli.options import Yes
from lonnymq.cli.output.console import pairs, rows, table
from lonnymq.cli.session import Session, command, group
from lonnymq.cli.output.formatting import at as moment_words
from lonnymq.cli.output.formatting import content_text, counted

if TYPE_CHECKING:
    from lonnymq.results import DeadMessage

SHOWN_CONTENT = 10_000
Ids = Annotated[list[int] | None, typer.Argument(metavar="[ID]...", help="These messages.")]
OfChannel = Annotated[str | None, typer.Option("--channel", help="Those of this channel.")]
OfKind = Annotated[str | None, typer.Option("--kind", help="Those of this kind.")]
All = Annotated[bool, typer.Option("--all", help="All of them.")]

app = group("Dead messages: out of attempts, kept until they are redriven or purged.")


@command(app, "list")
def list_dead(
    at: Session,
    channel: OfChannel = None,
    kind: OfKind = None,
    after: Annotated[int | None, typer.Option(help="Begin after this id.")] = None,
    limit: Annotated[int, typer.Option(help="So many at most.", min=1, max=10_000)] = 50,
) -> None:
    """List dead messages by id, a page at a time."""
    found = at.queue.dead_list(channel, kind=kind, after=after, limit=limit)
    more = found[-1].id if len(found) == limit else None
    at.out.answer({"dead": found, "next_after": more}, lambda: dead_table(found))
    if more is not None:
        at.out.note(f"There may be more: lonnymq dead list --after {more}")


def dead_table(found: list[DeadMessage]) -> Any:
    """Dead messages as people see them."""
    if not found:
        return "No dead messages."
    made = table(">id", "channel", "kind", "name", ">attempts", "died at", "error")
    lines = (
        [
            str(each.id), each.channel, each.kind, each.name, each.attempt,
            moment_words(each.died_at), gist(each.error),
        ]
        for each in found
    )  # fmt: skip
    return rows(made, lines)


def gist(error: str | None) -> str | None:
    """The last line of a traceback says what happened, the only line of any other error."""
    lines = (error or "").strip().splitlines()
    return lines[-1][:200] if lines else None


@command(app)
def show(
    at: Session, message_id: Annotated[int, typer.Argument(metavar="ID", help="The message's id.")]
) -> None:
    """Show one dead message: its content, its headers, its error."""
    found = at.queue.dead_list(after=message_id - 1, limit=1)
    if not found or found[0].id != message_id:
        raise CommandError(
            f"Message {message_id} is not dead. Ask what became of it: "
            f"lonnymq message explain {message_id}"
        )
    at.out.answer(found[0], lambda: shown(found[0]))


def shown(dead: DeadMessage) -> Any:
    """Everything about one dead message."""
    from rich.console import Group
    from rich.text import Text

    from lonnymq.cli.output.formatting import readable

    facts = {
        "id": str(dead.id), "channel": dead.channel, "kind": dead.kind, "name": dead.name,
        "attempts": dead.attempt, "created at": moment_words(dead.created_at),
        "could run at": moment_words(dead.dequeue_at), "died at": moment_words(dead.died_at),
        "headers": dead.headers, "state": content_text(dead.state, most=SHOWN_CONTENT),
        "content": content_text(dead.content, most=SHOWN_CONTENT),
    }  # fmt: skip
    error = "\n".join(readable(line) for line in (dead.error or "no error was given").splitlines())
    return Group(pairs(facts), Text("error", style="bold"), Text(error))


@command(app)
def redrive(
    at: Session,
    message_ids: Ids = None,
    channel: OfChannel = None,
    kind: OfKind = None,
    every: All = False,
    yes: Yes = False,
) -> None:
    """Let dead messages live again where they stood in time, with all their attempts before them."""
    choice = Choice.of(at.queue, message_ids, channel, kind, every=every)
    total, exact = choice.count()
    sure(f"This will redrive {counted(total, 'dead message', exact=exact)}{choice.words}.", yes=yes)
    done, still, gone = 0, 0, 0
    with at.out.progress() as progress:
        task = progress.add_task("redriving", total=total if exact else None)
        for ids in choice.chunks():
            answers = [each.answer for each in at.queue.dead_redrive(ids, limit=len(ids))]
            done += answers.count("redriven")
            still += answers.count("duplicate")
            gone += answers.count("not_found")
            progress.update(task, completed=done + still + gone)
    document = {"redriven": done, "duplicate": still, "not_found": gone}
    at.out.answer(document, lambda: f"redriven: {counted(done, 'message')}")
    problems = [
        *([f"{still:,} stay dead: a live message has their name"] if still else []),
        *([f"{gone:,} were not found among the dead"] if gone else []),
    ]
    if problems:
        raise CommandError(f"{'; '.join(problems)}.")


@command(app)
def purge(
    at: Session,
    message_ids: Ids = None,
    channel: OfChannel = None,
    kind: OfKind = None,
    every: All = False,
    yes: Yes = False,
) -> None:
    """Delete dead messages for good."""
    choice = Choice.of(at.queue, message_ids, channel, kind, every=every)
    total, exact = choice.count()
    many = counted(total, "dead message", exact=exact)
    sure(f"This will delete {many}{choice.words}, for good.", yes=yes)
    deleted = 0
    with at.out.progress() as progress:
        task = progress.add_task("deleting", total=total if exact else None)
        for ids in choice.chunks():
            deleted += at.queue.dead_purge(ids, limit=len(ids))
            progress.update(task, completed=deleted)
    at.out.answer({"deleted": deleted}, lambda: f"deleted: {counted(deleted, 'dead message')}")
    if message_ids and deleted < len(set(message_ids)):
        raise CommandError(f"{len(set(message_ids)) - deleted:,} were not found among the dead.")
