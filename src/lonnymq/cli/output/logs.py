"""The library's log on standard error, for commands that go on: lines for people, JSON for programs."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Annotated, Literal

import typer

Level = Literal["debug", "info", "warning", "error"]
LogLevel = Annotated[
    Level,
    typer.Option(
        "--log-level", metavar="LEVEL", help="How much to say: debug, info, warning, error."
    ),
]
STANDARD = set(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class JsonLines(logging.Formatter):
    """A record as a JSON document: time, level, words, and the fields that came with it."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        document = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **{key: value for key, value in vars(record).items() if key not in STANDARD},
        }
        if record.exc_info:
            document["traceback"] = self.formatException(record.exc_info)
        return json.dumps(document, default=str, ensure_ascii=False)


def log_to_stderr(level: Level, *, as_json: bool) -> None:
    """Show what the library says of itself."""
    handler = logging.StreamHandler(sys.stderr)
    words = logging.Formatter("%(asctime)s %(levelname)-7s %(message)s", "%H:%M:%S")
    handler.setFormatter(JsonLines() if as_json else words)
    logger = logging.getLogger("lonnymq")
    logger.addHandler(handler)
    logger.setLevel(level.upper())
