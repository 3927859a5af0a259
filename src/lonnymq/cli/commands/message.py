"""`lonnymq message`: look at messages, ask why they wait, add some, take some back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from lonnymq.cli.confirmation import sure
from lonnymq.cli.errors import CommandError
from lonnymq.cli.commands.message_create import create
from lonnymq.cli.options import ChannelName, Yes
from lonnymq.cli.output.console import pairs, rows, table
from lonnymq.cli.session import Session, command, group, unknown_channel
from lonnymq.cli.output.formatting import at as moment_words
from lonnymq.cli.output.formatting import content_text, counted

if TYPE_CHECKING:
    from lonnymq.results import Explanation, PeekedMessage

PURGE_CHUNK = 5_000
Id = Annotated[int, typer.Argument(metavar="ID", help="The message's id.")]
Ids = Annotated[list[int], typer.Argument(metavar="ID...", help="The messages' ids.")]
NOT_CANCELLED = {
    "leased": "a worker has it",
    "busy": "somebody is settling it at this moment",
    "dead": "it is dead: lonnymq dead purge deletes it",
    "not_found": "there is none with this id: it has ended, or never was",
}

app = group("Messages: look at them, ask why they wait, add some, take some back.")
command(app, "create")(create)


@command(app)
def peek(
    at: Session,
    channel: ChannelName,
    limit: Annotated[int, typer.Option(help="So many at most.", min=1, max=10_000)] = 10,
) -> None:
    """Show the first messages of a channel, in the order of their turn; none is taken."""
    found = at.queue.peek(channel, limit=limit)
    if not found and at.queue.channel(channel).stats() is None:
        raise unknown_channel(channel)
    at.out.answer({"channel": channel, "messages": found}, lambda: peeked(found))


def peeked(found: list[PeekedMessage]) -> Any:
    """Messages as people see them."""
    if not found:
        return "No messages are waiting or running."
    made = table(">id", "may run at", "kind", "name", ">attempt", "running", "content")
    lines = (
        [
            str(each.id), moment_words(each.dequeue_at), each.kind, each.name, each.attempt,
            (each.worker or "yes") if each.leased else "no", content_text(each.content, most=60),
        ]
        for each in found
    )  # fmt: skip
    return rows(made, lines)


@command(app)
def explain(at: Session, message_id: Id) -> None:
    """Say why a message is not running."""
    found = at.queue.explain(message_id)
    if found.answer == "not_found":
        raise CommandError(found.explanation)
    at.out.answer(found, lambda: explained(found))


def explained(found: Explanation) -> Any:
    """The sentence, and the figures behind it."""
    from rich.console import Group
    from rich.text import Text

    figures = {
        key.replace("_", " "): moment_words(value) if key.endswith(("_at", "_until")) else value
        for key, value in (found.fields or {}).items()
    }
    return Group(Text(found.explanation, style="bold"), Text(), pairs(figures))


@command(app)
def cancel(at: Session, message_ids: Ids, yes: Yes = False) -> None:
    """Delete messages that nobody is working on."""
    sure(f"This will delete {counted(len(message_ids), 'message')} for good.", yes=yes)
    answers = at.queue.cancel_many(message_ids)
    at.out.answer(
        {"messages": answers},
        lambda: rows(table(">id", "answer"), ([str(each.id), each.answer] for each in answers)),
    )
    failed = [each for each in answers if each.answer != "cancelled"]
    if failed:
        reasons = "; ".join(f"{each.id}: {NOT_CANCELLED[each.answer]}" for each in failed[:5])
        more = f"; and {len(failed) - 5} more" if len(failed) > 5 else ""
        raise CommandError(f"{counted(len(failed), 'message')} not deleted: {reasons}{more}.")


@command(app)
def purge(at: Session, channel: ChannelName, yes: Yes = False) -> None:
    """Delete all messages that wait in a channel; those that are running stay."""
    stats = at.queue.channel(channel).stats()
    if stats is None:
        raise unknown_channel(channel)
    there, exact = stats.waiting + stats.scheduled, stats.counted_exactly
    many = counted(there, "message", exact=exact)
    sure(f"This will delete {many} waiting in channel '{channel}', for good.", yes=yes)
    deleted = 0
    with at.out.progress() as progress:
        task = progress.add_task("deleting", total=there if exact else None)
        while now := at.queue.purge(channel, limit=PURGE_CHUNK):
            deleted += now
            progress.update(task, completed=deleted)
    at.out.answer(
        {"channel": channel, "deleted": deleted},
        lambda: f"deleted: {counted(deleted, 'message')} of {channel}",
    )
