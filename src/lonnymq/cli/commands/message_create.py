"""`lonnymq message create`: one message from the command line, or many from a file."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lonnymq.cli.errors import Code, CommandError
from lonnymq.cli.message_file import Source, batches
from lonnymq.cli.session import Session
from lonnymq.cli.output.formatting import milliseconds, moment

if TYPE_CHECKING:
    from lonnymq.client import NewMessage

STDIN = Path("-")
Channel = Annotated[
    str | None,
    typer.Argument(metavar="[CHANNEL]", help="The channel; with --jsonl the lines may say it."),
]
Content = Annotated[
    str | None, typer.Argument(metavar="[CONTENT]", help="The content, as text in UTF-8.")
]
File = Annotated[
    Path | None,
    typer.Option("--file", "-f", metavar="FILE", help="The content is this file's; '-' is stdin."),
]
Lines = Annotated[
    Path | None,
    typer.Option("--lines", metavar="FILE", help="A message for each line; '-' is stdin."),
]
Jsonl = Annotated[
    Path | None,
    typer.Option(
        "--jsonl",
        metavar="FILE",
        help="A message for each JSON object: content or content_base64, channel, kind, name, headers, "
        "delay_ms, dequeue_at; '-' is stdin.",
    ),
]
Kind = Annotated[str | None, typer.Option(help="Which handler is to run it.")]
Name = Annotated[str | None, typer.Option(help="Unique among the live messages of its channel.")]
Headers = Annotated[str | None, typer.Option(metavar="JSON", help="A small JSON object.")]
Delay = Annotated[str | None, typer.Option(metavar="TIME", help="Run it so much later: 90s, 2h.")]
At = Annotated[
    str | None,
    typer.Option("--at", metavar="MOMENT", help="Run it then: 2030-01-31T08:00:00+01:00."),
]


def create(
    at: Session,
    channel: Channel = None,
    content: Content = None,
    file: File = None,
    lines: Lines = None,
    jsonl: Jsonl = None,
    kind: Kind = None,
    name: Name = None,
    headers: Headers = None,
    delay: Delay = None,
    run_at: At = None,
) -> None:
    """Add a message to a channel, or a message for each line of a file."""
    ways = [each for each in (content, file, lines, jsonl) if each is not None]
    if len(ways) != 1:
        raise CommandError(
            "Give the content once: as an argument, or with --file, --lines or --jsonl.", Code.USAGE
        )
    if channel is None and jsonl is None:
        raise CommandError("Say which channel: lonnymq message create CHANNEL CONTENT.", Code.USAGE)
    shared = template(channel, kind, name, headers, delay, run_at)
    if lines is not None or jsonl is not None:
        many(at, Source(lines or jsonl or STDIN, is_json=jsonl is not None), shared)
    else:
        one(at, os.fsencode(content) if content is not None else read(file or STDIN), shared)


def template(
    channel: str | None,
    kind: str | None,
    name: str | None,
    headers: str | None,
    delay: str | None,
    run_at: str | None,
) -> NewMessage:
    """What all the new messages have in common."""
    from lonnymq.client import NewMessage

    try:
        return NewMessage(
            b"",
            channel,
            dequeue_at=None if run_at is None else moment(run_at),
            delay_ms=None if delay is None else milliseconds(delay),
            name=name,
            kind=kind,
            headers=None if headers is None else json.loads(headers),
        )
    except json.JSONDecodeError as error:
        raise CommandError(f"--headers is no JSON: {error}.", Code.USAGE) from None
    except ValueError as error:
        raise CommandError(f"{error}.", Code.USAGE) from None


def read(file: Path) -> bytes:
    """A whole file, or all of standard input."""
    if file == STDIN:
        return sys.stdin.buffer.read()
    try:
        return file.read_bytes()
    except OSError as error:
        raise CommandError(f"{file} cannot be read: {error.strerror}.", Code.USAGE) from None


def one(at: Session, content: bytes, shared: NewMessage) -> None:
    """Create one message, and say its id."""
    result: Any = at.queue.create(
        shared.channel or "",
        content,
        delay_ms=shared.delay_ms,
        dequeue_at=shared.dequeue_at,
        name=shared.name,
        kind=shared.kind,
        headers=shared.headers,
    )
    answer, found = type(result).__name__.lower(), getattr(result, "id", None)
    reason = getattr(result, "reason", None)
    document = {"answer": answer, "id": found, "channel": shared.channel, "reason": reason}
    at.out.answer(document, lambda: f"{answer}: {found if found is not None else reason}")


def many(at: Session, source: Source, shared: NewMessage) -> None:
    """Create a message for each line, in batches, and count the answers."""
    if shared.name is not None:
        raise CommandError("A name is of one message: with --lines it cannot be given.", Code.USAGE)
    answers: Counter[str] = Counter()
    with at.out.progress(of_bytes=True) as progress:
        task = progress.add_task("creating", total=source.size)
        for batch, upto in batches(source, shared):
            answers.update(type(each).__name__.lower() for each in at.queue.create_many(batch))
            progress.update(task, completed=upto)
    told = {word: answers[word] for word in ("created", "duplicate", "dropped", "rejected")}
    words = ", ".join(f"{number:,} {word}" for word, number in told.items() if number)
    at.out.answer(told, lambda: words or "no lines, no messages")
    if answers["rejected"]:
        raise CommandError(
            f"{answers['rejected']:,} were rejected: their channel is full or being released."
        )
