"""`lonnymq watch`: a live screen of the channels in which something goes on."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from lonnymq.cli.errors import Code, CommandError, refusal_of
from lonnymq.cli.commands.keys import Keys
from lonnymq.cli.snapshot import Looker
from lonnymq.cli.output.channel_screen import (
    FOOT_LINES,
    SORTS,
    TABLE_LINES,
    Sort,
    View,
    head,
    ordered,
    screen,
)
from lonnymq.cli.session import Session, command, group
from lonnymq.cli.output.formatting import at as moment_words
from lonnymq.cli.output.formatting import milliseconds

if TYPE_CHECKING:
    from rich.console import RenderableType

HELP = "q quit · s sort · r reverse · n/p page · space freeze"

Only = Annotated[
    list[str] | None,
    typer.Argument(metavar="[CHANNEL]...", help="Only these; else all with something going on."),
]
By = Annotated[
    Sort,
    typer.Option(
        "--sort", metavar="ORDER", help="By waiting, running, rate, oldest, state or name."
    ),
]
Limit = Annotated[
    int | None,
    typer.Option(help="So many channels a page; else as many as fit.", min=1, max=1_000),
]
Every = Annotated[str, typer.Option(metavar="TIME", help="Look so often.")]
Count = Annotated[int | None, typer.Option(help="End after so many looks.", min=1)]

app = group("A live screen of the channels.")


@command(app)
def watch(
    at: Session,
    channels: Only = None,
    sort: By = "waiting",
    limit: Limit = None,
    every: Every = "1s",
    count: Count = None,
) -> None:
    """Watch the channels: what waits, what runs, limits, rate, the oldest, and why one is held back.

    Keys: q quits, s changes the order, r reverses it, n and p turn the page, space stops the picture.
    Without a terminal one picture is printed; with --json a line for each look is, until it is stopped.
    """
    seconds = interval(every)
    looker = Looker(at.queue, channels, limit=min(1_000, max(100, limit or 0)))
    view = View(sort=sort, rows=limit or 20)
    if at.out.as_json:
        stream(at, looker, view, seconds, count)
    elif sys.stdout.isatty():
        Live(at, looker, view, rows=limit).run(seconds, count)
    else:
        view = replace(view, width=at.out.console.width)
        at.out.console.print(screen(looker.look(), view, title=title(at)))


def interval(every: str) -> float:
    """The time between two looks in seconds."""
    try:
        return max(0.1, milliseconds(every) / 1_000)
    except ValueError as error:
        raise CommandError(f"{error}.", Code.USAGE) from None


def title(at: Session) -> str:
    """Which queue it is, without any secret."""
    from psycopg.conninfo import conninfo_to_dict

    known = conninfo_to_dict(at.server.dsn)
    where = known.get("dbname") or known.get("user") or "postgres"
    host = str(known.get("host") or "localhost")
    schema = "" if at.schema == "lonnymq" else f" · schema {at.schema}"
    return f"lonnymq{schema} · {where} at {host if '/' not in host else 'localhost'}"


def stream(at: Session, looker: Looker, view: View, seconds: float, count: int | None) -> None:
    """A JSON document for each look."""
    done = 0
    while True:
        look = looker.look()
        found = ordered(look.channels, view)
        at.out.line({"queue": look.stats, "channels": found, "workers": look.workers})
        done += 1
        if done == count:
            return
        time.sleep(max(seconds, looker.rest))


class Live:
    """The screen that goes on until somebody presses q."""

    def __init__(self, at: Session, looker: Looker, view: View, *, rows: int | None) -> None:
        self.at, self.looker, self.view, self.rows = at, looker, view, rows
        self.console = at.out.console
        self.frozen = False
        self.trouble: str | None = None
        self.look = looker.look()  # what is wrong at the start is said before the screen is taken

    def run(self, seconds: float, count: int | None) -> None:
        """Look, draw, wait for a key, until it is enough."""
        from rich.live import Live as Area

        looks = 1
        with Keys() as keys, Area(console=self.console, screen=True, auto_refresh=False) as area:
            due = time.monotonic() + seconds
            while True:
                area.update(self.picture(), refresh=True)
                if looks == count:
                    return
                key = keys.wait(due - time.monotonic())
                if key is not None and not self.press(key):
                    return
                if time.monotonic() >= due:
                    looks += 1
                    self.look_again()
                    due = time.monotonic() + max(seconds, self.looker.rest)

    def picture(self) -> RenderableType:
        """The screen as it is to be drawn at the terminal's size of this moment."""
        size = self.console.size
        above = len(self.console.render_lines(head(self.look, self.heading())))
        fits = max(1, size.height - above - TABLE_LINES - FOOT_LINES)
        self.view = replace(self.view, rows=min(self.rows or fits, fits), width=size.width)
        return screen(self.look, self.view, title=self.heading(), foot=HELP)

    def heading(self) -> str:
        """Which queue it is, and of when the picture is."""
        frozen = " · frozen" if self.frozen else ""
        return f"{title(self.at)} · {self.trouble or moment_words(self.look.now_at)}{frozen}"

    def look_again(self) -> None:
        """Look, unless the picture is stopped; a server that is gone may come back."""
        if self.frozen:
            return
        try:
            self.look = self.looker.look()
            self.trouble = None
        except Exception as error:
            rejected = refusal_of(error, dsn=self.at.common.named_dsn, schema=self.at.schema)
            if rejected is None or rejected.code != Code.UNREACHABLE:
                raise
            self.trouble = "the server cannot be reached, trying again"

    def press(self, key: str) -> bool:
        """Do what a key asks for; False if that is to end."""
        view = self.view
        match key:
            case "q" | "Q":
                return False
            case "s":
                after = SORTS[(SORTS.index(view.sort) + 1) % len(SORTS)]
                self.view = replace(view, sort=after, page=0)
            case "r":
                self.view = replace(view, reverse=not view.reverse)
            case "n" | "down":
                self.view = replace(view, page=view.page + 1)
            case "p" | "up":
                self.view = replace(view, page=view.page - 1)
            case " ":
                self.frozen = not self.frozen
        return True
