"""How commands answer: tables and sentences for people, one JSON document for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, is_dataclass
from typing import TYPE_CHECKING, Any

from lonnymq.cli.output.formatting import content_fields, plain

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.progress import Progress
    from rich.table import Table

PIPE_WIDTH = 200


class Output:
    """Standard output for answers, standard error for everything else."""

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json

    @property
    def console(self) -> Console:
        """Where people read; into a pipe lines are not cut at the width of a terminal that is not there."""
        from rich.console import Console

        width = None if sys.stdout.isatty() else PIPE_WIDTH
        return Console(width=width, highlight=False, soft_wrap=False)

    @property
    def margin(self) -> Console:
        """Standard error: progress, and questions."""
        from rich.console import Console

        return Console(stderr=True, highlight=False)

    def answer(self, document: Any, people: Callable[[], RenderableType | str]) -> None:
        """Answer with a document, or with what people read."""
        if self.as_json:
            self.line(document)
            return
        shown = people()
        if isinstance(shown, str):
            sys.stdout.write(f"{shown}\n")
        else:
            self.console.print(shown)

    def line(self, document: Any) -> None:
        """One JSON document on a line of its own."""
        sys.stdout.write(json.dumps(jsonable(document), ensure_ascii=False) + "\n")
        sys.stdout.flush()

    def note(self, sentence: str) -> None:
        """Say something beside the answer, to people only."""
        if not self.as_json:
            sys.stderr.write(f"{sentence}\n")

    @contextmanager
    def progress(self, *, of_bytes: bool = False) -> Iterator[Progress]:
        """Progress bars on standard error, where that is a terminal; of so many things, or of bytes."""
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
        with Progress(*columns, console=self.margin, transient=True) as progress:
            yield progress

    def working(self, what: str, *, unless: object = None) -> Any:
        """A sign of life while something takes its time."""
        if unless or not sys.stderr.isatty():
            return nullcontext()
        return self.margin.status(what)


def jsonable(value: Any) -> Any:
    """The value as JSON has it: the fields of results under their own names, bytes as text or base64."""
    match value:
        case Mapping():
            pairs = {str(key): each for key, each in value.items()}
            return {key: jsonable(each) for key, each in with_content(pairs).items()}
        case list() | tuple():
            return [jsonable(each) for each in value]
        case _ if is_dataclass(value) and not isinstance(value, type):
            return jsonable(asdict(value))
        case bytes():
            return jsonable(content_fields("content", value))
        case str() | int() | float() | None:
            return value
        case _:
            return str(value)


def with_content(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Each field of bytes as two: its text, or its base64 where it is no text."""
    found: dict[str, Any] = {}
    for key, value in fields.items():
        absent = value is None and "content" in fields and key in ("content", "state")
        is_bytes = isinstance(value, bytes) or absent
        found |= content_fields(key, value) if is_bytes else {key: value}
    return found


def table(*columns: str, title: str | None = None) -> Table:
    """An empty table; a column whose name begins with '>' holds numbers and is set flush right."""
    from rich import box
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, title=title, title_justify="left")
    for column in columns:
        right = column.startswith(">")
        made.add_column(
            column.removeprefix(">"),
            justify="right" if right else "left",
            overflow="fold",
            no_wrap=right,
        )
    return made


def rows(made: Table, lines: Iterable[Iterable[object]]) -> Table:
    """Fill a table; whatever people or tenants wrote is shown as it is, without any power over the terminal."""
    for line in lines:
        made.add_row(*(plain(each) for each in line))
    return made


def pairs(fields: Mapping[str, object], *, title: str | None = None) -> Table:
    """What there is to say about one thing: a name and a value a line."""
    from rich.table import Table

    made = Table(box=None, show_header=False, pad_edge=False, title=title, title_justify="left")
    made.add_column(style="bold", no_wrap=True)
    made.add_column(overflow="fold")
    return rows(made, fields.items())
