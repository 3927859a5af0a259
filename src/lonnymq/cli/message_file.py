"""New messages from the lines of a file: plain lines, or a JSON object per line."""

from __future__ import annotations

import json
import sys
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from lonnymq.cli.errors import Code, CommandError

if TYPE_CHECKING:
    from lonnymq.client import NewMessage

STDIN = Path("-")
BATCH = 1_000
BATCH_BYTES = 8 * 1024 * 1024
FIELDS = {
    "content", "content_base64", "channel", "kind", "key", "headers", "delay_ms", "dequeue_at",
}  # fmt: skip


@dataclass(frozen=True)
class MessageFile:
    """A file of lines, or standard input."""

    path: Path
    is_json: bool

    @property
    def size(self) -> int | None:
        """The number of bytes, or None for a pipe."""
        is_pipe = self.path == STDIN or not self.path.is_file()
        return None if is_pipe else self.path.stat().st_size

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """Open the file to read bytes."""
        if self.path == STDIN:
            yield sys.stdin.buffer
            return
        try:
            file = self.path.open("rb")
        except OSError as error:
            raise CommandError(
                f"{self.path} cannot be read: {error.strerror}.", Code.USAGE
            ) from None
        with file:
            yield file


def read_batches(
    source: MessageFile, template: NewMessage
) -> Iterator[tuple[list[NewMessage], int]]:
    """Batches of messages, each with the number of bytes read so far; empty lines are skipped."""
    batch: list[NewMessage] = []
    read, size = 0, 0
    with source.open() as lines:
        for number, line in enumerate(lines, 1):
            read += len(line)
            text = line.rstrip(b"\r\n")
            if not text.strip():
                continue
            batch.append(
                parse_line(text, number, template)
                if source.is_json
                else replace(template, content=text)
            )
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
