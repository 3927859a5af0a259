"""The options that several commands share, and the parsers of their values."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import typer

from lonnymq.cli.errors import Code, CommandError
from lonnymq.text import parse_duration

DSN_VARIABLE = "LONNYMQ_DSN"
CONNECTION_PANEL = "Connection and output"
FIRST_DAY, LAST_DAY = datetime(1900, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC)


def option(text: str, *names: str, **settings: Any) -> Any:
    """An option with its help text. Without names the option is called like the parameter."""
    return typer.Option(*names, help=text, **settings)


def argument(text: str, metavar: str | None = None) -> Any:
    """An argument with its help text."""
    return typer.Argument(metavar=metavar, help=text)


Dsn = Annotated[
    str | None,
    option(
        f"PostgreSQL server. Default: the variable {DSN_VARIABLE}.",
        "--dsn",
        metavar="DSN",
        rich_help_panel=CONNECTION_PANEL,
    ),
]
Embedded = Annotated[
    bool,
    option(
        "Use a private PostgreSQL of your user if you name no server.",
        "--embedded",
        rich_help_panel=CONNECTION_PANEL,
    ),
]
Schema = Annotated[
    str | None,
    option(
        "Schema of the queue. Default: lonnymq.",
        "--schema",
        metavar="NAME",
        rich_help_panel=CONNECTION_PANEL,
    ),
]
Json = Annotated[
    bool, option("Print JSON for programs.", "--json", rich_help_panel=CONNECTION_PANEL)
]
Yes = Annotated[bool, option("Do not ask for confirmation.", "--yes", "-y")]
Limit = Annotated[int, option("Maximum number of rows.", min=1, max=10_000)]
ChannelName = Annotated[str, argument("Name of the channel.", "CHANNEL")]
WorkerAddress = Annotated[
    str, argument("Address of the Worker, like jobs:worker.", "MODULE:OBJECT")
]
LakePath = Annotated[str, option("Folder or URL of the lake.", "--lake", metavar="PATH")]
StorageOptions = Annotated[
    list[str] | None,
    option(
        "Setting of the object store. You can repeat this option.",
        "--storage-option",
        metavar="KEY=VALUE",
    ),
]


@dataclass(frozen=True, slots=True)
class Common:
    """The options of every command: the queue, and the format of the output."""

    dsn: str | None = None
    schema: str | None = None
    as_json: bool = False
    embedded: bool = False

    def merge(self, before: Common | None) -> Common:
        """These options, completed by the options before the command's name."""
        before = before or Common()
        return Common(
            dsn=self.dsn or before.dsn,
            schema=self.schema or before.schema,
            as_json=self.as_json or before.as_json,
            embedded=self.embedded or before.embedded,
        )

    @property
    def named_dsn(self) -> str | None:
        """The server of the option or of the environment, if there is one."""
        return self.dsn or os.environ.get(DSN_VARIABLE) or None

    @property
    def has_database(self) -> bool:
        """Whether a server is named, or the private server is asked for."""
        return self.named_dsn is not None or self.embedded

    @property
    def named_schema(self) -> str:
        """The queue's schema."""
        return self.schema or "lonnymq"


def read_duration(text: str, option: str) -> int:
    """The duration of an option in milliseconds, or the error that names the option."""
    try:
        return parse_duration(text)
    except ValueError as error:
        raise CommandError(f"{option}: {error}.", Code.USAGE) from None


def parse_time(text: str) -> int | datetime:
    """A time: ISO 8601 with its timezone, or epoch milliseconds."""
    if re.fullmatch(r"[+-]?\d+", text.strip()):
        return int(text)
    try:
        read = datetime.fromisoformat(text.strip())
    except ValueError:
        read = None
    if read is None or read.utcoffset() is None:
        raise ValueError(
            f"'{text}' is not a time: write 2030-01-31T08:00:00+01:00, or epoch milliseconds"
        )
    return read


def read_day(text: str | None, option: str, *, is_last: bool = False) -> datetime | None:
    """The day or time of an option, in UTC unless it has a timezone; the end of the day if `is_last`."""
    if text is None:
        return None
    try:
        if re.fullmatch(r"\s*\d{9,}\s*", text):
            read = datetime.fromtimestamp(int(text) / 1000, UTC)
        else:
            read = datetime.fromisoformat(text.strip())
    except (ValueError, OverflowError, OSError):
        read = LAST_DAY
    read = read.replace(tzinfo=UTC) if read.tzinfo is None else read
    if not FIRST_DAY <= read < LAST_DAY:
        raise CommandError(
            f"{option}: '{text}' is not a day or a time: write 2030-01-31 or 2030-01-31T08:00.",
            Code.USAGE,
        )
    is_day = re.fullmatch(r"\s*\d{4}-?\d\d-?\d\d\s*|\s*\d{4}-?W\d\d-?\d\s*", text) is not None
    return read + timedelta(days=1) if is_last and is_day else read


def read_epoch(text: str | None, option: str, *, is_last: bool = False) -> int | None:
    """A day or a time in epoch milliseconds."""
    read = read_day(text, option, is_last=is_last)
    return None if read is None else round(read.timestamp() * 1000)


def parse_settings(given: list[str] | None, option: str) -> dict[str, Any]:
    """The settings of an option that you can repeat, from key=value."""
    wrong = [each for each in given or [] if "=" not in each]
    if wrong:
        raise CommandError(f"{option}: '{wrong[0]}' has no value: write key=value.", Code.USAGE)
    return {key: value for key, _, value in (each.partition("=") for each in given or [])}
