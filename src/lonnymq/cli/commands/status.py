"""`lonnymq status`, `attention` and `watch`: the queue on a page, what is wrong, a live screen of the channels."""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Annotated, Any

from lonnymq.cli.channel_screen import (
    FOOTER_LINES,
    SORTS,
    TABLE_LINES,
    Snapshot,
    SnapshotReader,
    Sort,
    View,
    format_rate,
    render_channels,
    render_header,
    render_screen,
    sort_channels,
)
from lonnymq.cli.errors import Code, describe_error
from lonnymq.cli.options import argument, option, read_duration
from lonnymq.cli.output import format_number, format_timestamp, make_list, make_table
from lonnymq.cli.session import Session, command, create_group
from lonnymq.text import format_duration

if TYPE_CHECKING:
    from rich.console import RenderableType

    from lonnymq.results import WorkerSeen

MAX_CHANNELS = 10
SERVER = "select current_setting('server_version'), current_database(), current_user::text"
KEY_HELP = "q quit · s sort · r reverse · n/p page · space freeze"
KEY_CODES = {
    b"\x1b[A": "up", b"\x1b[B": "down", b"\x1b[5~": "up", b"\x1b[6~": "down", b"\x1b": "q",
}  # fmt: skip
Channels = Annotated[
    list[str] | None, argument("Channels to show. Default: all active channels.", "[CHANNEL]...")
]
SortOrder = Annotated[
    Sort,
    option(
        "Order of the channels: waiting, running, rate, oldest, state or name.",
        "--sort",
        metavar="ORDER",
    ),
]
PageSize = Annotated[
    int | None, option("Number of channels per page. Default: as many as fit.", min=1, max=1_000)
]
Interval = Annotated[str, option("Time between two updates.", metavar="TIME")]
Count = Annotated[int | None, option("Number of updates before the end.", min=1)]

Target = Annotated[
    str, option("How long a message may wait before its channel is listed.", metavar="TIME")
]
FailingPercent = Annotated[
    int, option("Share of failed attempts from which a channel is listed.", min=1, max=100)
]
MaxRows = Annotated[int, option("Maximum number of rows.", "--limit", min=1, max=1_000)]

app = create_group("Show the queue on a page.")
attention_app = create_group("List what needs attention now.")
watch_app = create_group("Show a live screen of the channels.")


@command(app)
def status(session: Session) -> None:
    """Show the server, the totals of the queue, the busiest channels and the workers."""
    with session.connect() as connection:
        row = connection.execute(SERVER).fetchone() or ()
    server = dict(zip(("version", "database", "user"), row, strict=False))
    installed_version = session.queue.installed().library_version
    snapshot = SnapshotReader(session.queue, None).read()
    document = {
        "server": server,
        "schema": session.schema,
        "installed_version": installed_version,
        "library_version": version("lonnymq"),
        "queue": snapshot.stats,
        "rate": snapshot.rate,
        "channels": sort_channels(snapshot.channels, View())[:MAX_CHANNELS],
        "workers": snapshot.workers,
    }
    facts = {
        "server": "PostgreSQL {version}, database {database}, user {user}".format(**server),
        "queue": f"schema {session.schema}, installed by {installed_version}",
        **describe_queue(snapshot),
    }
    width = session.out.console.width
    session.out.print_result(document, lambda: render_status(facts, snapshot, width))


@command(attention_app)
def attention(
    session: Session,
    target: Target = "5m",
    failing_percent: FailingPercent = 20,
    limit: MaxRows = 100,
) -> None:
    """List the channels in trouble: failing, dead messages, paused or late, with the reason and what to do."""
    found = session.queue.attention(
        read_duration(target, "--target"), failing_percent=failing_percent, limit=limit
    )
    rows = [
        (
            "(queue)" if each.channel is None else each.channel,
            each.reason,
            each.explanation,
            each.advice,
        )
        for each in found
    ]
    session.out.print_result(
        found,
        lambda: (
            make_table("channel", "reason", "what is wrong", "what to do", rows=rows)
            if rows
            else "Nothing needs attention."
        ),
    )


def render_status(facts: dict[str, object], snapshot: Snapshot, width: int) -> Any:
    """The page for people."""
    from rich.console import Group
    from rich.text import Text

    parts: list[Any] = [make_list(facts)]
    if snapshot.channels:
        view = View(rows=MAX_CHANNELS, width=width)
        parts += [Text("\nBusiest channels", style="bold"), render_channels(snapshot, view)]
    if snapshot.workers:
        parts += [Text("Workers", style="bold"), render_workers(snapshot.workers)]
    return Group(*parts)


def describe_queue(snapshot: Snapshot) -> dict[str, object]:
    """The totals of the queue."""
    stats, about = snapshot.stats, "about " if snapshot.stats.estimated else ""
    alive = sum(each.alive for each in snapshot.workers)
    maximum = f" of {stats.max_concurrency:,} at once" if stats.max_concurrency else ""
    kept = f", kept {format_duration(stats.history_keep_ms)}" if stats.history_keep_ms else ""
    return {
        "waiting": f"{about}{format_number(stats.waiting)}",
        "running": f"{format_number(stats.in_flight)}{maximum}",
        "dead": format_number(stats.dead),
        "channels": f"{about}{format_number(stats.channels)}, {format_number(stats.ready)} ready",
        "finished": f"{format_rate(snapshot.rate)} per second",
        "next due": format_timestamp(stats.next_at),
        "history": stats.history + (kept if stats.history != "off" else ""),
        "workers": f"{alive} alive" if alive else "none alive",
    }


def render_workers(workers: list[WorkerSeen]) -> Any:
    """A table of workers."""
    rows = (
        [
            each.name,
            "stopping" if each.alive and each.stopping else "alive" if each.alive else "gone",
            each.running, each.concurrency, f"{format_duration(each.now_at - each.seen_at)} ago",
            format_duration(each.now_at - each.started_at), format_kinds(each),
        ]
        for each in workers
    )  # fmt: skip
    columns = ("name", "state", ">running", ">maximum", ">seen", ">up", "kinds")
    return make_table(*columns, rows=rows)


def format_kinds(worker: WorkerSeen) -> str:
    """The kinds of messages that a worker handles."""
    kinds = (worker.about or {}).get("kinds") or []
    return ", ".join("any" if each is None else str(each) for each in kinds)


@command(watch_app)
def watch(
    session: Session,
    channels: Channels = None,
    sort: SortOrder = "waiting",
    limit: PageSize = None,
    interval: Interval = "1s",
    count: Count = None,
) -> None:
    """Watch the channels: waiting and running messages, limits, rate, and why a channel is held back.

    Keys: q quits, s changes the order, r reverses the order, n and p turn the page, space freezes the screen.
    Without a terminal the command prints the screen once. With --json the command prints a document per update.
    """
    seconds = max(0.1, read_duration(interval, "--interval") / 1_000)
    reader = SnapshotReader(session.queue, channels, limit=min(1_000, max(100, limit or 0)))
    view = View(sort=sort, rows=limit or 20)
    if session.out.as_json:
        print_snapshots(session, reader, view, seconds, count)
    elif sys.stdout.isatty():
        LiveScreen(session, reader, view, rows=limit).run(seconds, count)
    else:
        view = replace(view, width=session.out.console.width)
        session.out.console.print(render_screen(reader.read(), view, title=make_title(session)))


def make_title(session: Session) -> str:
    """The database, the host and the schema, without any password."""
    from psycopg.conninfo import conninfo_to_dict

    known = conninfo_to_dict(session.server.dsn)
    database = known.get("dbname") or known.get("user") or "postgres"
    host = str(known.get("host") or "localhost")
    schema = "" if session.schema == "lonnymq" else f" · schema {session.schema}"
    return f"lonnymq{schema} · {database} at {host if '/' not in host else 'localhost'}"


def print_snapshots(
    session: Session, reader: SnapshotReader, view: View, seconds: float, count: int | None
) -> None:
    """Print a JSON document per update."""
    done = 0
    while True:
        snapshot = reader.read()
        channels = sort_channels(snapshot.channels, view)
        session.out.print_json(
            {"queue": snapshot.stats, "channels": channels, "workers": snapshot.workers}
        )
        done += 1
        if done == count:
            return
        time.sleep(max(seconds, reader.pause))


@contextmanager
def read_single_keys() -> Iterator[int | None]:
    """Read keys without Enter, and restore the terminal afterwards. Without a terminal: None."""
    if not sys.stdin.isatty():
        yield None
        return
    import termios
    import tty

    file = sys.stdin.fileno()
    before = termios.tcgetattr(file)
    tty.setcbreak(file)
    try:
        yield file
    finally:
        termios.tcsetattr(file, termios.TCSADRAIN, before)


def wait_for_key(file: int | None, seconds: float) -> str | None:
    """The key pressed within some seconds, or None."""
    ready, _, _ = select.select([] if file is None else [file], [], [], max(0.0, seconds))
    if not ready or file is None:
        return None
    pressed = os.read(file, 16)
    return KEY_CODES.get(pressed) or pressed[:1].decode(errors="ignore") or "q"


class LiveScreen:
    """The screen that updates until the user presses q."""

    def __init__(
        self, session: Session, reader: SnapshotReader, view: View, *, rows: int | None
    ) -> None:
        self.session, self.reader, self.view, self.rows = session, reader, view, rows
        self.console = session.out.console
        self.frozen = False
        self.problem: str | None = None
        self.snapshot = reader.read()  # an error here is printed before the screen opens

    def run(self, seconds: float, count: int | None) -> None:
        """Draw, wait for a key and update, until the end."""
        from rich.live import Live

        updates = 1
        with (
            read_single_keys() as keys,
            Live(console=self.console, screen=True, auto_refresh=False) as area,
        ):
            due = time.monotonic() + seconds
            while True:
                area.update(self.render(), refresh=True)
                if updates == count:
                    return
                key = wait_for_key(keys, due - time.monotonic())
                if key is not None and not self.handle_key(key):
                    return
                if time.monotonic() >= due:
                    updates += 1
                    self.update()
                    due = time.monotonic() + max(seconds, self.reader.pause)

    def render(self) -> RenderableType:
        """The screen at the terminal's current size."""
        size, title = self.console.size, self.make_title()
        header = len(self.console.render_lines(render_header(self.snapshot, title)))
        fits = max(1, size.height - header - TABLE_LINES - FOOTER_LINES)
        self.view = replace(self.view, rows=min(self.rows or fits, fits), width=size.width)
        return render_screen(self.snapshot, self.view, title=title, footer=KEY_HELP)

    def make_title(self) -> str:
        """The queue, and the time of the snapshot."""
        frozen = " · frozen" if self.frozen else ""
        state = self.problem or format_timestamp(self.snapshot.now_at)
        return f"{make_title(self.session)} · {state}{frozen}"

    def update(self) -> None:
        """Read a snapshot unless the screen is frozen; an unreachable server may come back."""
        if self.frozen:
            return
        try:
            self.snapshot = self.reader.read()
            self.problem = None
        except Exception as error:
            common = self.session.common
            expected = describe_error(error, dsn=common.named_dsn, schema=self.session.schema)
            if expected is None or expected.code != Code.UNREACHABLE:
                raise
            self.problem = "server unreachable, retrying"

    def handle_key(self, key: str) -> bool:
        """Handle a key; False ends the screen."""
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
