"""`lonnymq message`: create messages, also from files, and peek, explain, cancel, purge, status, wait and result."""

from __future__ import annotations

import json
import os
import sys
from base64 import b64decode
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

from lonnymq.cli.errors import Code, CommandError, unknown_name_error
from lonnymq.cli.options import ChannelName, Limit, Yes, argument, option, parse_time, read_duration
from lonnymq.cli.output import (
    format_at_least,
    format_content,
    format_timestamp,
    make_list,
    make_table,
)
from lonnymq.cli.session import Session, command, create_group
from lonnymq.errors import WaitTimeout
from lonnymq.text import format_count

if TYPE_CHECKING:
    from lonnymq.client import NewMessage
    from lonnymq.results import Explanation, MessageStatus, PeekedMessage

STDIN = Path("-")
BATCH = 1_000
BATCH_BYTES = 8 * 1024 * 1024
CREATE_OPTIONS = (
    "kind", "key", "headers", "delay_ms", "dequeue_at", "expires_at", "max_attempts", "priority",
    "unique_for_ms", "when_duplicate", "max_delay_ms",
)  # fmt: skip
FIELDS = {"content", "content_base64", "channel", *CREATE_OPTIONS}
PURGE_CHUNK = 5_000
ANSWERS = ("created", "duplicate", "replaced", "postponed", "dropped", "rejected")
MAX_REASONS = 5
CANCEL_PROBLEMS = {
    "busy": "the message is just being settled",
    "dead": "the message is dead, see lonnymq dead purge",
    "not_found": "there is no live message with this id",
}
Id = Annotated[int, argument("Id of the message.", "ID")]
Ids = Annotated[list[int], argument("Ids of the messages.", "ID...")]
Channel = Annotated[str | None, argument("The channel. Optional with --jsonl.", "[CHANNEL]")]
Content = Annotated[str | None, argument("The content, as text in UTF-8.", "[CONTENT]")]
File = Annotated[
    Path | None, option("File with the content, '-' for stdin.", "--file", "-f", metavar="FILE")
]
Lines = Annotated[
    Path | None, option("File with a message per line, '-' for stdin.", "--lines", metavar="FILE")
]
Jsonl = Annotated[
    Path | None,
    option(
        "File with a JSON object per message, '-' for stdin. Fields: content or content_base64, channel, "
        "kind, key, headers, delay_ms, dequeue_at, expires_at, max_attempts, priority, unique_for_ms, "
        "when_duplicate, max_delay_ms.",
        "--jsonl",
        metavar="FILE",
    ),
]
Kind = Annotated[str | None, option("Kind, which selects the handler.")]
Key = Annotated[str | None, option("Unique among the live messages of the channel.")]
Headers = Annotated[str | None, option("Headers as a JSON object.", metavar="JSON")]
Delay = Annotated[str | None, option("Time to wait: 90s, 2h.", metavar="TIME")]
At = Annotated[
    str | None, option("Time to run at: 2030-01-31T08:00:00+01:00.", "--at", metavar="TIME")
]
GroupId = Annotated[
    int | None, option("Id of the group that the messages are members of.", "--group")
]
Timeout = Annotated[
    str | None, option("Time to wait at most: 90s, 2h. No limit by default.", metavar="TIME")
]
Expires = Annotated[
    str | None,
    option(
        "Time after which no worker gets the message: 2030-01-31T08:00:00+01:00.",
        "--expires-at",
        metavar="TIME",
    ),
]
MaxAttempts = Annotated[int | None, option("Maximum number of attempts, instead of the channel's.")]
Priority = Annotated[
    int | None, option("0 to 1000. Among the due messages of the channel, higher comes first.")
]
UniqueFor = Annotated[
    str | None, option("Time for which the key stays taken: 90s, 2h.", metavar="TIME")
]
WhenDuplicateOption = Annotated[
    str | None,
    option("If the key is taken: keep, replace, postpone or refuse.", "--when-duplicate"),
]
MaxDelay = Annotated[
    str | None,
    option("Maximum time for which postpone moves the message: 90s, 2h.", metavar="TIME"),
]

app = create_group(
    "Create, peek, explain, cancel and purge messages, show status and result, wait for the end."
)


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
    expires_at: Expires = None,
    max_attempts: MaxAttempts = None,
    priority: Priority = None,
    unique_for: UniqueFor = None,
    when_duplicate: WhenDuplicateOption = None,
    max_delay: MaxDelay = None,
    group: GroupId = None,
) -> None:
    """Add a message to a channel, or a message for each line of a file."""
    if sum(each is not None for each in (content, file, lines, jsonl)) != 1:
        raise CommandError(
            "Give the content once: as an argument, or with --file, --lines or --jsonl.", Code.USAGE
        )
    if channel is None and jsonl is None:
        raise CommandError("Name a channel: lonnymq message create CHANNEL CONTENT.", Code.USAGE)
    template = replace(
        make_template(channel, kind, key, headers, delay, run_at),
        expires_at=read_time(expires_at),
        max_attempts=max_attempts,
        priority=priority,
        unique_for_ms=None if unique_for is None else read_duration(unique_for, "--unique-for"),
        when_duplicate=when_duplicate,  # type: ignore[arg-type]  # SQL rejects other words
        max_delay_ms=None if max_delay is None else read_duration(max_delay, "--max-delay"),
    )
    if (many := lines or jsonl) is not None:
        create_from_file(session, many, template, is_json=jsonl is not None, group=group)
        return
    if content is not None:
        create_single(session, os.fsencode(content), template, group)
        return
    with open_input(file or STDIN) as opened:
        create_single(session, opened.read(), template, group)


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
            dequeue_at=read_time(run_at),
            delay_ms=None if delay is None else read_duration(delay, "--delay"),
            key=key,
            kind=kind,
            headers=None if headers is None else json.loads(headers),
        )
    except json.JSONDecodeError as error:
        raise CommandError(f"--headers is not JSON: {error}.", Code.USAGE) from None
    except ValueError as error:
        raise CommandError(f"{error}.", Code.USAGE) from None


def read_time(text: str | None) -> int | datetime | None:
    """A time option."""
    try:
        return None if text is None else parse_time(text)
    except ValueError as error:
        raise CommandError(f"{error}.", Code.USAGE) from None


def create_single(
    session: Session, content: bytes, template: NewMessage, group: int | None
) -> None:
    """Create a message and print its id."""
    options = {name: getattr(template, name) for name in CREATE_OPTIONS}
    result: Any = session.queue.create(template.channel or "", content, group=group, **options)
    answer, message_id = type(result).__name__.lower(), getattr(result, "id", None)
    reason = getattr(result, "reason", None)
    document = {"answer": answer, "id": message_id, "channel": template.channel, "reason": reason}
    session.out.print_result(
        document, lambda: f"{answer}: {message_id if message_id is not None else reason}"
    )


def create_from_file(
    session: Session, path: Path, template: NewMessage, *, is_json: bool, group: int | None
) -> None:
    """Create a message for each line, in batches, and print the number of messages per answer."""
    if template.key is not None:
        raise CommandError("--key is for a single message, not for a file.", Code.USAGE)
    answers: Counter[str] = Counter()
    size = path.stat().st_size if path != STDIN and path.is_file() else None  # a pipe has no size
    with session.out.progress(of_bytes=True) as progress:
        task = progress.add_task("creating", total=size)
        for batch, bytes_read in read_batches(path, template, is_json=is_json):
            results = session.queue.create_many(batch, group=group)
            answers.update(type(each).__name__.lower() for each in results)
            progress.update(task, completed=bytes_read)
    counts = {answer: answers[answer] for answer in ANSWERS}
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


@command(app, "status")
def show_message_status(session: Session, message_ids: Ids) -> None:
    """Show what became of messages: waiting, running, completed, dead and so on."""
    found = session.queue.status_many(message_ids)
    session.out.print_result({"messages": found}, lambda: render_statuses(found))


def render_statuses(found: list[MessageStatus]) -> Any:
    """A row per message."""
    rows = (
        [
            str(each.id), each.state, each.channel, each.attempt,
            "" if each.dequeue_at is None else format_timestamp(each.dequeue_at),
            "" if each.finished_at is None else format_timestamp(each.finished_at),
            each.result_size, format_error_line(each.error),
        ]
        for each in found
    )  # fmt: skip
    return make_table(
        ">id",
        "state",
        "channel",
        ">attempt",
        "due at",
        "ended at",
        ">result bytes",
        "error",
        rows=rows,
    )


def format_error_line(error: str | None) -> str:
    """The last line of an error, which says what went wrong."""
    return error.strip().rsplit("\n", 1)[-1][:80] if error else ""


@command(app, "wait")
def wait_for_messages(session: Session, message_ids: Ids, timeout: Timeout = None) -> None:
    """Wait until messages have ended, and show what became of the messages."""
    limit = None if timeout is None else read_duration(timeout, "--timeout")
    try:
        found = session.queue.wait_many(message_ids, timeout_ms=limit)
    except WaitTimeout as error:
        raise CommandError(f"Time is up: {error}.") from None
    session.out.print_result({"messages": found}, lambda: render_statuses(found))


@command(app, "result")
def print_message_result(session: Session, message_id: Id) -> None:
    """Print the result of a completed message, as stored."""
    status = session.queue.status(message_id)
    if status.state != "completed":
        raise CommandError(f"Message {message_id} has no result: its state is {status.state}.")
    result = session.queue.result(message_id)
    if result is None:
        raise CommandError(f"Message {message_id} completed without a result.")
    if session.out.as_json:
        return session.out.print_json({"id": message_id, "result": result})
    sys.stdout.buffer.write(result)
    sys.stdout.buffer.flush()
    return None


@command(app, "cancel")
def cancel_messages(session: Session, message_ids: Ids, yes: Yes = False) -> None:
    """Cancel messages. The handlers of running messages are cancelled by the next heartbeat."""
    count = format_count(len(message_ids), "message")
    session.confirm(f"This will permanently delete {count}, running messages too.", yes=yes)
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


@contextmanager
def open_input(path: Path) -> Iterator[IO[bytes]]:
    """Open a file or standard input to read bytes."""
    if path == STDIN:
        yield sys.stdin.buffer
        return
    try:
        file = path.open("rb")
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}.", Code.USAGE) from None
    with file:
        yield file


def read_batches(
    path: Path, template: NewMessage, *, is_json: bool
) -> Iterator[tuple[list[NewMessage], int]]:
    """Batches of messages, each with the number of bytes read so far; empty lines are skipped."""
    batch: list[NewMessage] = []
    read, size = 0, 0
    with open_input(path) as lines:
        for number, line in enumerate(lines, 1):
            read += len(line)
            text = line.rstrip(b"\r\n")
            if not text.strip():
                continue
            new = parse_line(text, number, template) if is_json else replace(template, content=text)
            batch.append(new)
            size += len(text)
            if len(batch) >= BATCH or size >= BATCH_BYTES:
                yield batch, read
                batch, size = [], 0
    if batch:
        yield batch, read


def parse_line(line: bytes, number: int, template: NewMessage) -> NewMessage:
    """The message of a JSON object; the template gives the missing fields."""
    try:
        fields: Any = json.loads(line)
    except ValueError as error:
        raise line_error(number, f"is not JSON: {error}") from None
    if not isinstance(fields, dict):
        raise line_error(number, "is not a JSON object")
    if unknown := sorted(fields.keys() - FIELDS):
        raise line_error(number, f"has unknown fields: {', '.join(unknown)}")
    content = take_content(fields, number)
    if fields.get("channel", template.channel) is None:
        raise line_error(number, "names no channel, and the command names none")
    return replace(template, content=content, **fields)


def take_content(fields: dict[str, Any], number: int) -> bytes:
    """Remove the content from the fields: text, base64, or any other JSON value as JSON."""
    if "content_base64" in fields and fields.pop("content", None) is None:
        try:
            return b64decode(fields.pop("content_base64"), validate=True)
        except (ValueError, TypeError):
            raise line_error(number, "has a content_base64 that is not base64") from None
    fields.pop("content_base64", None)
    if "content" not in fields:
        raise line_error(number, "has no content")
    content = fields.pop("content")
    return content.encode() if isinstance(content, str) else json.dumps(content).encode()


def line_error(number: int, problem: str) -> CommandError:
    """The error for a line; the batches before the line are stored."""
    return CommandError(
        f"Line {number} {problem}. The batches before this line are stored.", Code.USAGE
    )
