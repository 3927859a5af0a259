"""New messages from the lines of a file: plain lines, or a JSON object each."""

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

BATCH = 1_000
BATCH_BYTES = 8 * 1024 * 1024
FIELDS = {
    "content", "content_base64", "channel", "kind", "name", "headers", "delay_ms", "dequeue_at",
}  # fmt: skip


@dataclass(frozen=True)
class Source:
    """A file of lines, or standard input."""

    path: Path
    is_json: bool

    @property
    def size(self) -> int | None:
        """How many bytes there are; None of what comes through a pipe."""
        return None if self.is_stdin or not self.path.is_file() else self.path.stat().st_size

    @property
    def is_stdin(self) -> bool:
        """Whether the lines come from standard input."""
        return self.path == Path("-")

    @contextmanager
    def opened(self) -> Iterator[IO[bytes]]:
        """The lines as bytes."""
        if self.is_stdin:
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


def batches(source: Source, shared: NewMessage) -> Iterator[tuple[list[NewMessage], int]]:
    """Messages in batches, each with the number of bytes read up to its end; empty lines are passed over."""
    batch: list[NewMessage] = []
    read, size = 0, 0
    with source.opened() as lines:
        for number, line in enumerate(lines, 1):
            read += len(line)
            text = line.rstrip(b"\r\n")
            if not text.strip():
                continue
            batch.append(
                from_json(text, number, shared) if source.is_json else replace(shared, content=text)
            )
            size += len(text)
            if len(batch) >= BATCH or size >= BATCH_BYTES:
                yield batch, read
                batch, size = [], 0
    if batch:
        yield batch, read


def from_json(line: bytes, number: int, shared: NewMessage) -> NewMessage:
    """The message that a JSON object describes; what it does not say is as for all."""
    try:
        fields: Any = json.loads(line)
    except ValueError as error:
        raise rejected(number, f"is no JSON: {error}") from None
    if not isinstance(fields, dict):
        raise rejected(number, "is no JSON object")
    if unknown := sorted(fields.keys() - FIELDS):
        raise rejected(number, f"has unknown fields: {', '.join(unknown)}")
    content = content_of(fields, number)
    if fields.get("channel", shared.channel) is None:
        raise rejected(number, "says no channel, and none was given")
    return replace(shared, content=content, **fields)


def content_of(fields: dict[str, Any], number: int) -> bytes:
    """The content, taken out of the fields: text, base64, or any other JSON value as JSON."""
    if "content_base64" in fields and fields.pop("content", None) is None:
        try:
            return b64decode(fields.pop("content_base64"), validate=True)
        except (ValueError, TypeError):
            raise rejected(number, "has a content_base64 that is no base64") from None
    fields.pop("content_base64", None)
    if "content" not in fields:
        raise rejected(number, "has no content")
    content = fields.pop("content")
    return content.encode() if isinstance(content, str) else json.dumps(content).encode()


def rejected(number: int, why: str) -> CommandError:
    """The rejection of a line; what came before it is stored."""
    return CommandError(
        f"Line {number} {why}. The lines of the batches before it are stored.", Code.USAGE
    )
