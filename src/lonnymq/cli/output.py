"""Prints the result of a command: a table or a sentence for people, a JSON document for programs, and the log."""

from __future__ import annotations

import json
import logging
import sys
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, is_dataclass
from datetime import UTC, datetime, timedelta
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any, Literal

from lonnymq.cli.options import option
from lonnymq.text import NOTHING, format_count

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.progress import Progress
    from rich.table import Table
    from rich.text import Text

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
YEARS = 365 * 86_400_000
PIPE_WIDTH = 200
Level = Literal["debug", "info", "warning", "error"]
LogLevel = Annotated[
    Level,
    option("Minimum level to log: debug, info, warning or error.", "--log-level", metavar="LEVEL"),
]
STANDARD_FIELDS = set(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


def format_timestamp(epoch_ms: int | None) -> str:
    """A time in UTC, or the bare number outside of the calendar."""
    if epoch_ms is None:
        return NOTHING
    if not 0 <= epoch_ms < 8_000 * YEARS:
        return str(epoch_ms)
    read = EPOCH + timedelta(milliseconds=epoch_ms)
    return f"{read:%Y-%m-%d %H:%M:%S} UTC"


def format_number(value: float | None, *, exact: bool = True) -> str:
    """A number with thousands separators; with a plus if counting stopped early."""
    if value is None:
        return NOTHING
    return f"{value:,}" + ("" if exact else "+")


def format_at_least(value: int, noun: str, *, exact: bool) -> str:
    """A count with its noun: '1 message', or '10,000 messages or more' if counting stopped early."""
    return format_count(value, noun) if exact else f"{value:,} {noun}s or more"


def escape_controls(text: str) -> str:
    """The text with escaped control characters, because tenants' text must not control a terminal."""
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode() for each in text
    )


def to_cell(value: object) -> Text:
    """The value as text without markup or control characters; None is a dash."""
    from rich.text import Text

    if isinstance(value, Text):
        return value
    if value is None:
        return Text(NOTHING, style="dim")
    if isinstance(value, bool):
        return Text("yes" if value else "no")
    if isinstance(value, int | float):
        return Text(format_number(value))
    return Text(escape_controls(str(value)))


def format_content(content: bytes | None, *, max_bytes: int = 200) -> str | None:
    """The start of a content: text if it is text, else hexadecimal."""
    if content is None:
        return None
    cut = content[:max_bytes]
    more = f" … ({len(content):,} bytes)" if len(content) > max_bytes else ""
    try:
        return escape_controls(cut.decode()) + more
    except UnicodeDecodeError as error:
        if error.start >= len(cut) - 3 and more:  # cut inside a character
            return escape_controls(cut[: error.start].decode()) + more
        return "0x" + cut.hex() + more


def content_fields(key: str, content: Any) -> dict[str, str | None]:
    """The two JSON fields of a content: `content` for text, else `content_base64`; the other field is null."""
    text, base64 = None, None
    if content is not None:
        try:
            text = bytes(content).decode()
        except UnicodeDecodeError:
            base64 = b64encode(bytes(content)).decode()
    return {key: text, f"{key}_base64": base64}


class Output:
    """Results go to standard output, everything else to standard error."""

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json

    @property
    def console(self) -> Console:
        """Standard output. Lines in a pipe are wider than a terminal."""
        from rich.console import Console

        width = None if sys.stdout.isatty() else PIPE_WIDTH
        return Console(width=width, highlight=False, soft_wrap=False)

    @property
    def error_console(self) -> Console:
        """Standard error: progress and status."""
        from rich.console import Console

        return Console(stderr=True, highlight=False)

    def print_result(self, document: Any, render: Callable[[], RenderableType | str]) -> None:
        """Print the document as JSON, or the rendered text for people."""
        if self.as_json:
            self.print_json(document)
            return
        text = render()
        if isinstance(text, str):
            sys.stdout.write(f"{text}\n")
        else:
            self.console.print(text)

    def print_json(self, document: Any) -> None:
        """Print a JSON document on a line."""
        sys.stdout.write(json.dumps(to_json(document), ensure_ascii=False) + "\n")
        sys.stdout.flush()

    def print_note(self, sentence: str) -> None:
        """Print a sentence on standard error, for people only."""
        if not self.as_json:
            sys.stderr.write(f"{sentence}\n")

    @contextmanager
    def progress(self, *, of_bytes: bool = False) -> Iterator[Progress]:
        """Progress bars for a terminal, which count things or bytes."""
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        columns = (
            TextColumn("{task.description}"), BarColumn(),
            DownloadColumn() if of_bytes else MofNCompleteColumn(),
            TimeElapsedColumn(), TimeRemainingColumn(),
        )  # fmt: skip
        with Progress(*columns, console=self.error_console, transient=True) as progress:
            yield progress

    def show_status(self, text: str, *, unless: object = None) -> Any:
        """Show a status line while the block runs."""
        if unless or not sys.stderr.isatty():
            return nullcontext()
        return self.error_console.status(text)


def to_json(value: Any) -> Any:
    """The value as JSON: results by field name, bytes as text or base64."""
    match value:
        case Mapping():
            fields = {str(key): each for key, each in value.items()}
            return {key: to_json(each) for key, each in split_contents(fields).items()}
        case list() | tuple():
            return [to_json(each) for each in value]
        case _ if is_dataclass(value) and not isinstance(value, type):
            return to_json(asdict(value))
        case bytes():
            return to_json(content_fields("content", value))
        case str() | int() | float() | None:
            return value
        case _:
            return str(value)


def split_contents(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Each field of bytes as two fields: text and base64."""
    found: dict[str, Any] = {}
    for key, value in fields.items():
        absent = value is None and "content" in fields and key in ("content", "state")
        is_bytes = isinstance(value, bytes) or absent
        found |= content_fields(key, value) if is_bytes else {key: value}
    return found


def make_table(
    *columns: str, rows: Iterable[Iterable[object]], widths: Mapping[str, int] | None = None
) -> Table:
    """A table of rows; a column whose name begins with '>' holds numbers and is aligned to the right.

    With `widths` by column, a longer text is cut instead of wrapped.
    """
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        name, is_number = column.removeprefix(">"), column.startswith(">")
        table.add_column(
            name, justify="right" if is_number else "left", no_wrap=is_number or widths is not None,
            overflow="fold" if widths is None else "ellipsis",
            width=None if widths is None else widths[name],
        )  # fmt: skip
    for row in rows:
        table.add_row(*map(to_cell, row))
    return table


def make_list(fields: Mapping[str, object]) -> Table:
    """The fields of a thing: a name and a value per line."""
    from rich.table import Table

    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in fields.items():
        table.add_row(to_cell(name), to_cell(value))
    return table


def print_next_page(out: Output, command: str, after: object) -> None:
    """Print the command for the next page, if there is a next page."""
    if after is not None:
        out.print_note(
            f"There may be more: lonnymq {command} --after {quote(escape_controls(str(after)))}"
        )


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


class LineFormatter(logging.Formatter):
    """A record on a line. Names of tenants cannot begin a line of their own or control the terminal."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the name in logging
        """The line without control characters. A traceback follows on lines of its own."""
        return escape_controls(super().formatMessage(record))


def log_to_stderr(level: Level, *, as_json: bool) -> None:
    """Write the log of the library to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    lines = LineFormatter("%(asctime)s %(levelname)-7s %(message)s", "%H:%M:%S")
    handler.setFormatter(JsonFormatter() if as_json else lines)
    logger = logging.getLogger("lonnymq")
    logger.addHandler(handler)
    logger.setLevel(level.upper())
