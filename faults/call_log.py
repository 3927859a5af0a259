"""The record of every call, before and after it: one JSON line each, appended by a single write.

What was written is with the kernel when `write` returns, so it outlasts the process that wrote it, however that ends.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import psycopg

from lonnymq.results import LeasedMessage

UNKNOWN_STATES = (
    "57P",
    "08",
)  # the connection or the server went: nobody knows what became of the call


class CallLog:
    """One process's record; forked children go on in the same file."""

    def __init__(self, path: str | Path) -> None:
        self.descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        self.numbers = count(1)

    def write(self, **record: Any) -> None:
        """Append a line, with the time and the process."""
        line = json.dumps(
            {"t": time.time() * 1000, "p": os.getpid(), **record}, separators=(",", ":")
        )
        os.write(self.descriptor, line.encode() + b"\n")

    def begin(self, call: str, **what: Any) -> int:
        """Write down that a call begins, and give it a number."""
        number = next(self.numbers)
        self.write(n=number, call=call, phase="begin", **what)
        return number

    def end(self, number: int, call: str, phase: str, **what: Any) -> None:
        """Write down how it ended: ok, rejected or unknown."""
        self.write(n=number, call=call, phase=phase, **what)

    def failed(self, number: int, call: str, error: BaseException) -> None:
        """Write down that it ended by an error."""
        text = f"{type(error).__name__}: {error}"[:300]
        self.end(number, call, classify_error(error), error=text)


def classify_error(error: BaseException) -> str:
    """Whether the server said no, or nobody knows."""
    state = getattr(error, "sqlstate", None)
    if state is None and isinstance(error, (psycopg.Error, OSError, TimeoutError)):
        return "unknown"
    if not isinstance(error, Exception):  # cancelled half way
        return "unknown"
    return "unknown" if str(state).startswith(UNKNOWN_STATES) else "rejected"


def lease_row(message: LeasedMessage) -> tuple[object, ...]:
    """A leased message as it is written down; LogReader.dequeue in observations.py reads it."""
    named = (message.id, message.token.hex, read_label(message.content), message.channel)
    return (*named, message.attempt, message.dequeued_at, message.lease_until)


def read_label(content: bytes) -> str:
    """The label is the content's first word."""
    return bytes(content[:64]).split(b" ", 1)[0].decode(errors="replace")


def read_records(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """All records of a run, each with the name of its file."""
    for path in sorted(folder.glob("*.jsonl")):
        for record in read_file(path):
            yield path.stem, record


def read_file(path: Path) -> Iterator[dict[str, Any]]:
    """The records of one file; the last line of a process that was killed may be torn."""
    with path.open("rb") as lines:
        for line in lines:
            try:
                yield json.loads(line)
            except ValueError:
                continue
