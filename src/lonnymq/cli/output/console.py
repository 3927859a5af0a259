"""Prints the result of a command: a table or a sentence for people, a JSON document for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, is_dataclass
from shlex import quote
from typing import TYPE_CHECKING, Any

from lonnymq.cli.output.formatting import content_fields, escape_controls, to_cell

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.progress import Progress
    from rich.table import Table

PIPE_WIDTH = 200


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


def make_table(*columns: str, rows: Iterable[Iterable[object]]) -> Table:
    """A table of rows; a column whose name begins with '>' holds numbers and is aligned to the right."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        right = column.startswith(">")
        table.add_column(
            column.removeprefix(">"),
            justify="right" if right else "left",
            overflow="fold",
            no_wrap=right,
        )
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
