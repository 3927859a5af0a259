"""The log of long-running commands on standard error: lines for people, JSON for programs."""

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
        "--log-level", metavar="LEVEL", help="Minimum level to log: debug, info, warning or error."
    ),
]
STANDARD_FIELDS = set(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class JsonFormatter(logging.Formatter):
    """A record as a JSON document: time, level, message and extra fields."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        document = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **{key: value for key, value in vars(record).items() if key not in STANDARD_FIELDS},
        }
        if record.exc_info:
            document["traceback"] = self.formatException(record.exc_info)
        return json.dumps(document, default=str, ensure_ascii=False)


def log_to_stderr(level: Level, *, as_json: bool) -> None:
    """Write the log of the library to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    lines = logging.Formatter("%(asctime)s %(levelname)-7s %(message)s", "%H:%M:%S")
    handler.setFormatter(JsonFormatter() if as_json else lines)
    logger = logging.getLogger("lonnymq")
    logger.addHandler(handler)
    logger.setLevel(level.upper())
