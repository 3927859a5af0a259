"""`lonnymq dead`: list, redrive and delete messages that ran out of attempts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from lonnymq.cli.errors import Code, CommandError
from lonnymq.cli.options import Limit, Yes, argument, option
from lonnymq.cli.output import (
    escape_controls,
    format_at_least,
    format_content,
    format_timestamp,
    make_list,
    make_table,
    print_next_page,
)
from lonnymq.cli.session import Session, command, create_group
from lonnymq.text import format_count

if TYPE_CHECKING:
    from lonnymq.client import Queue
    from lonnymq.results import DeadMessage

CHUNK = 1_000
COUNT_PAGE, MAX_COUNT = 10_000, 100_000
MAX_CONTENT = 10_000
Ids = Annotated[list[int] | None, argument("Ids of messages.", "[ID]...")]
InChannel = Annotated[str | None, option("Only messages of this channel.", "--channel")]
OfKind = Annotated[str | None, option("Only messages of this kind.", "--kind")]
All = Annotated[bool, option("All dead messages.", "--all")]

app = create_group("List, redrive and delete dead messages.")


@dataclass(frozen=True)
class Selection:
    """The dead messages of a command: given ids, a channel, a kind, or all."""

    queue: Queue
    ids: list[int] | None
    channel: str | None
    kind: str | None

    @property
    def suffix(self) -> str:
        """The selection as the end of a sentence."""
        channel = f" of channel '{self.channel}'" if self.channel is not None else ""
        return channel + (f" of kind '{self.kind}'" if self.kind is not None else "")

    def count(self) -> tuple[int, bool]:
        """The number of messages, and whether counting reached the end."""
        total = 0
        for ids in self.read_ids(COUNT_PAGE):
            total += len(ids)
            if total >= MAX_COUNT:
                return total, False
        return total, True

    def read_ids(self, size: int) -> Iterator[list[int]]:
        """The ids in order, in lists of `size`; each id comes once."""
        if self.ids is not None:
            yield from (self.ids[at : at + size] for at in range(0, len(self.ids), size))
            return
        last: int | None = None
        while ids := self.queue.dead_ids(self.channel, kind=self.kind, after=last, limit=size):
            yield ids
            last = ids[-1]


def select_messages(
    session: Session, ids: list[int] | None, channel: str | None, kind: str | None, *, every: bool
) -> Selection:
    """The selection, or the error that it is ambiguous."""
    if [bool(ids), channel is not None or kind is not None, every].count(True) != 1:
        raise CommandError(
            "Select dead messages by ids, by --channel and --kind, or with --all.", Code.USAGE
        )
    return Selection(session.queue, list(dict.fromkeys(ids)) if ids else None, channel, kind)


def confirm_and_process(
    session: Session,
    selection: Selection,
    verb: str,
    process: Callable[[list[int]], None],
    *,
    yes: bool,
) -> None:
    """Ask for confirmation, and process the ids in chunks with a progress bar."""
    total, exact = selection.count()
    messages = format_at_least(total, "dead message", exact=exact)
    session.confirm(f"This will {verb} {messages}{selection.suffix}.", yes=yes)
    with session.out.progress() as progress:
        task = progress.add_task("dead messages", total=total if exact else None)
        for ids in selection.read_ids(CHUNK):
            process(ids)
            progress.advance(task, len(ids))


@command(app, "list")
def list_dead(
    session: Session,
    channel: InChannel = None,
    kind: OfKind = None,
    after: Annotated[int | None, option("Start after this id.")] = None,
    limit: Limit = 50,
) -> None:
    """List dead messages by id, a page at a time."""
    found = session.queue.dead_list(channel, kind=kind, after=after, limit=limit)
    next_after = found[-1].id if len(found) == limit else None
    session.out.print_result({"dead": found, "next_after": next_after}, lambda: render_dead(found))
    print_next_page(session.out, "dead list", next_after)


def render_dead(found: list[DeadMessage]) -> Any:
    """A table of dead messages."""
    if not found:
        return "No dead messages."
    rows = (
        [
            str(each.id), each.channel, each.kind, each.key, each.attempt,
            format_timestamp(each.died_at), last_line(each.error),
        ]
        for each in found
    )  # fmt: skip
    return make_table(">id", "channel", "kind", "key", ">attempts", "died at", "error", rows=rows)


def last_line(error: str | None) -> str | None:
    """The last line of a traceback, which names the error."""
    lines = (error or "").strip().splitlines()
    return lines[-1][:200] if lines else None


@command(app, "show")
def show_dead(
    session: Session, message_id: Annotated[int, argument("Id of the message.", "ID")]
) -> None:
    """Show the content, the headers and the error of a dead message."""
    found = session.queue.dead_list(after=message_id - 1, limit=1)
    if not found or found[0].id != message_id:
        raise CommandError(
            f"Message {message_id} is not dead. See its state with: lonnymq message explain {message_id}"
        )
    session.out.print_result(found[0], lambda: render_dead_message(found[0]))


def render_dead_message(dead: DeadMessage) -> Any:
    """All fields of a dead message."""
    from rich.console import Group
    from rich.text import Text

    fields = {
        "id": str(dead.id), "channel": dead.channel, "kind": dead.kind, "key": dead.key,
        "attempts": dead.attempt, "created at": format_timestamp(dead.created_at),
        "due at": format_timestamp(dead.dequeue_at), "died at": format_timestamp(dead.died_at),
        "headers": dead.headers, "state": format_content(dead.state, max_bytes=MAX_CONTENT),
        "content": format_content(dead.content, max_bytes=MAX_CONTENT),
    }  # fmt: skip
    error = "\n".join(map(escape_controls, (dead.error or "no error was given").splitlines()))
    return Group(make_list(fields), Text("error", style="bold"), Text(error))


@command(app, "redrive")
def redrive_dead(
    session: Session,
    message_ids: Ids = None,
    channel: InChannel = None,
    kind: OfKind = None,
    every: All = False,
    yes: Yes = False,
) -> None:
    """Make dead messages live again at their old position, with all their attempts."""
    selection = select_messages(session, message_ids, channel, kind, every=every)
    counts = {"redriven": 0, "duplicate": 0, "not_found": 0}

    def redrive(ids: list[int]) -> None:
        for each in session.queue.dead_redrive(ids, limit=len(ids)):
            counts[each.answer] += 1

    confirm_and_process(session, selection, "redrive", redrive, yes=yes)
    redriven, duplicate, missing = counts.values()
    session.out.print_result(counts, lambda: f"redriven: {format_count(redriven, 'message')}")
    problems = {
        f"{format_count(duplicate, 'message')} not redriven: a live message has the same key.": duplicate,
        f"{format_count(missing, 'id')} not found among the dead messages.": missing,
    }
    if duplicate or missing:
        raise CommandError(" ".join(text for text, count in problems.items() if count))


@command(app, "purge")
def purge_dead(
    session: Session,
    message_ids: Ids = None,
    channel: InChannel = None,
    kind: OfKind = None,
    every: All = False,
    yes: Yes = False,
) -> None:
    """Delete dead messages permanently."""
    selection = select_messages(session, message_ids, channel, kind, every=every)
    counts: list[int] = []

    def purge(ids: list[int]) -> None:
        counts.append(session.queue.dead_purge(ids, limit=len(ids)))

    confirm_and_process(session, selection, "permanently delete", purge, yes=yes)
    deleted = sum(counts)
    session.out.print_result(
        {"deleted": deleted}, lambda: f"deleted: {format_count(deleted, 'dead message')}"
    )
    if selection.ids and deleted < len(selection.ids):
        missing = format_count(len(selection.ids) - deleted, "id")
        raise CommandError(f"{missing} not found among the dead messages.")
