"""`lonnymq message`: create, peek, explain, cancel and purge messages."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lonnymq.cli.errors import Code, CommandError, unknown_name_error
from lonnymq.cli.message_file import STDIN, MessageFile, read_batches
from lonnymq.cli.options import ChannelName, Limit, Yes, parse_time, read_duration
from lonnymq.cli.output.console import make_list, make_table
from lonnymq.cli.output.formatting import format_at_least, format_content, format_timestamp
from lonnymq.cli.session import Session, command, create_group
from lonnymq.text import format_count

if TYPE_CHECKING:
    from lonnymq.client import NewMessage
    from lonnymq.results import Explanation, PeekedMessage

PURGE_CHUNK = 5_000
MAX_REASONS = 5
CANCEL_PROBLEMS = {
    "leased": "a worker runs the message",
    "busy": "the message is just being settled",
    "dead": "the message is dead, see lonnymq dead purge",
    "not_found": "there is no live message with this id",
}
Id = Annotated[int, typer.Argument(metavar="ID", help="Id of the message.")]
Ids = Annotated[list[int], typer.Argument(metavar="ID...", help="Ids of the messages.")]
Channel = Annotated[
    str | None,
    typer.Argument(metavar="[CHANNEL]", help="The channel. Optional with --jsonl."),
]
Content = Annotated[
    str | None, typer.Argument(metavar="[CONTENT]", help="The content, as text in UTF-8.")
]
File = Annotated[
    Path | None,
    typer.Option("--file", "-f", metavar="FILE", help="File with the content, '-' for stdin."),
]
Lines = Annotated[
    Path | None,
    typer.Option("--lines", metavar="FILE", help="File with a message per line, '-' for stdin."),
]
Jsonl = Annotated[
    Path | None,
    typer.Option(
        "--jsonl",
        metavar="FILE",
        help="File with a JSON object per message, '-' for stdin. Fields: content or content_base64, channel, "
        "kind, key, headers, delay_ms, dequeue_at.",
    ),
]
Kind = Annotated[str | None, typer.Option(help="Kind, which selects the handler.")]
Key = Annotated[str | None, typer.Option(help="Unique among the live messages of the channel.")]
Headers = Annotated[str | None, typer.Option(metavar="JSON", help="Headers as a JSON object.")]
Delay = Annotated[str | None, typer.Option(metavar="TIME", help="Time to wait: 90s, 2h.")]
At = Annotated[
    str | None,
    typer.Option("--at", metavar="TIME", help="Time to run at: 2030-01-31T08:00:00+01:00."),
]

app = create_group("Create, peek, explain, cancel and purge messages.")


@command(app, "create")
def create_message(
    session: Session,
    channel: Channel = None,
    content: Content = None,
    file: File = None,
    lines: Lines = None,
    jsonl: Jsonl = None,
    kind: Kind = None,
    key: Key = None,
    headers: Headers = None,
    delay: Delay = None,
    run_at: At = None,
) -> None:
    """Add a message to a channel, or a message for each line of a file."""
    if sum(each is not None for each in (content, file, lines, jsonl)) != 1:
        raise CommandError(
            "Give the content once: as an argument, or with --file, --lines or --jsonl.", Code.USAGE
        )
    if channel is None and jsonl is None:
        raise CommandError("Name a channel: lonnymq message create CHANNEL CONTENT.", Code.USAGE)
    template = make_template(channel, kind, key, headers, delay, run_at)
    if lines is not None or jsonl is not None:
        source = MessageFile(lines or jsonl or STDIN, is_json=jsonl is not None)
        create_from_file(session, source, template)
    else:
        data = os.fsencode(content) if content is not None else read_content(file or STDIN)
        create_single(session, data, template)


def make_template(
    channel: str | None,
    kind: str | None,
    key: str | None,
    headers: str | None,
    delay: str | None,
    run_at: str | None,
) -> NewMessage:
    """The fields that all new messages share."""
    from lonnymq.client import NewMessage

    try:
        return NewMessage(
            b"",
            channel,
            dequeue_at=None if run_at is None else parse_time(run_at),
            delay_ms=None if delay is None else read_duration(delay, "--delay"),
            key=key,
            kind=kind,
            headers=None if headers is None else json.loads(headers),
        )
    except json.JSONDecodeError as error:
        raise CommandError(f"--headers is not JSON: {error}.", Code.USAGE) from None
    except ValueError as error:
        raise CommandError(f"{error}.", Code.USAGE) from None


def read_content(file: Path) -> bytes:
    """The content of a file or of standard input."""
    if file == STDIN:
        return sys.stdin.buffer.read()
    try:
        return file.read_bytes()
    except OSError as error:
        raise CommandError(f"{file} cannot be read: {error.strerror}.", Code.USAGE) from None


def create_single(session: Session, content: bytes, template: NewMessage) -> None:
    """Create a message and print its id."""
    result: Any = session.queue.create(
        template.channel or "",
        content,
        delay_ms=template.delay_ms,
        dequeue_at=template.dequeue_at,
        key=template.key,
        kind=template.kind,
        headers=template.headers,
    )
    answer, message_id = type(result).__name__.lower(), getattr(result, "id", None)
    reason = getattr(result, "reason", None)
    document = {"answer": answer, "id": message_id, "channel": template.channel, "reason": reason}
    session.out.print_result(
        document, lambda: f"{answer}: {message_id if message_id is not None else reason}"
    )


def create_from_file(session: Session, source: MessageFile, template: NewMessage) -> None:
    """Create a message for each line, in batches, and print the number of messages per answer."""
    if template.key is not None:
        raise CommandError("--key is for a single message, not for a file.", Code.USAGE)
    answers: Counter[str] = Counter()
    with session.out.progress(of_bytes=True) as progress:
        task = progress.add_task("creating", total=source.size)
        for batch, bytes_read in read_batches(source, template):
            results = session.queue.create_many(batch)
            answers.update(type(each).__name__.lower() for each in results)
            progress.update(task, completed=bytes_read)
    counts = {answer: answers[answer] for answer in ("created", "duplicate", "dropped", "rejected")}
    text = ", ".join(f"{count:,} {answer}" for answer, count in counts.items() if count)
    session.out.print_result(counts, lambda: text or "no lines, no messages")
    if answers["rejected"]:
        rejected = format_count(answers["rejected"], "message")
        raise CommandError(f"{rejected} rejected: the channel is full or retiring.")


@command(app, "peek")
def peek_messages(session: Session, channel: ChannelName, limit: Limit = 10) -> None:
    """Show the first messages of a channel in their order. No message is leased."""
    found = session.queue.peek(channel, limit=limit)
    if not found and session.queue.channel(channel).stats() is None:
        raise unknown_name_error("channel", channel)
    session.out.print_result(
        {"channel": channel, "messages": found}, lambda: render_messages(found)
    )


def render_messages(found: list[PeekedMessage]) -> Any:
    """A table of messages."""
    if not found:
        return "No messages wait or run."
    rows = (
        [
            str(each.id), format_timestamp(each.dequeue_at), each.kind, each.key, each.attempt,
            (each.worker or "yes") if each.leased else "no",
            format_content(each.content, max_bytes=60),
        ]
        for each in found
    )  # fmt: skip
    return make_table(">id", "due at", "kind", "key", ">attempt", "running", "content", rows=rows)


@command(app, "explain")
def explain_message(session: Session, message_id: Id) -> None:
    """Explain why a message does not run."""
    found = session.queue.explain(message_id)
    if found.answer == "not_found":
        raise CommandError(found.explanation)
    session.out.print_result(found, lambda: render_explanation(found))


def render_explanation(found: Explanation) -> Any:
    """The explanation and the values behind it."""
    from rich.console import Group
    from rich.text import Text

    fields = {
        key.replace("_", " "): format_timestamp(value) if key.endswith(("_at", "_until")) else value
        for key, value in (found.fields or {}).items()
    }
    return Group(Text(found.explanation, style="bold"), Text(), make_list(fields))


@command(app, "cancel")
def cancel_messages(session: Session, message_ids: Ids, yes: Yes = False) -> None:
    """Delete messages that no worker runs."""
    count = format_count(len(message_ids), "message")
    session.confirm(f"This will permanently delete {count}.", yes=yes)
    answers = session.queue.cancel_many(message_ids)
    rows = [[str(each.id), each.answer] for each in answers]
    session.out.print_result({"messages": answers}, lambda: make_table(">id", "answer", rows=rows))
    failed = [each for each in answers if each.answer != "cancelled"]
    if failed:
        reasons = [f"{each.id}: {CANCEL_PROBLEMS[each.answer]}" for each in failed[:MAX_REASONS]]
        if len(failed) > MAX_REASONS:
            reasons.append(f"and {len(failed) - MAX_REASONS} more")
        raise CommandError(
            f"{format_count(len(failed), 'message')} not deleted. {', '.join(reasons)}."
        )


@command(app, "purge")
def purge_channel(session: Session, channel: ChannelName, yes: Yes = False) -> None:
    """Delete all waiting messages of a channel. Running messages stay."""
    stats = session.queue.channel(channel).stats()
    if stats is None:
        raise unknown_name_error("channel", channel)
    total, exact = stats.waiting + stats.scheduled, stats.counted_exactly
    messages = format_at_least(total, "waiting message", exact=exact)
    session.confirm(f"This will permanently delete {messages} of channel '{channel}'.", yes=yes)
    deleted = 0
    with session.out.progress() as progress:
        task = progress.add_task("deleting", total=total if exact else None)
        while count := session.queue.purge(channel, limit=PURGE_CHUNK):
            deleted += count
            progress.update(task, completed=deleted)
    session.out.print_result(
        {"channel": channel, "deleted": deleted},
        lambda: f"deleted: {format_count(deleted, 'message')} of {channel}",
    )
