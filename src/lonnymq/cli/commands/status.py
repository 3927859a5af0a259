"""`lonnymq status`: the queue on a page."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from lonnymq.cli.output.channel_screen import View, format_rate, render_channels, sort_channels
from lonnymq.cli.output.console import make_list, make_table
from lonnymq.cli.output.formatting import format_number, format_timestamp
from lonnymq.cli.session import Session, command, create_group
from lonnymq.cli.snapshot import Snapshot, SnapshotReader
from lonnymq.text import format_duration

if TYPE_CHECKING:
    from lonnymq.results import WorkerSeen

MAX_CHANNELS = 10
SERVER = "select current_setting('server_version'), current_database(), current_user::text"

app = create_group("Show the queue on a page.")


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """The server's version, the database and the user."""

    version: str
    database: str
    user: str


@command(app)
def status(session: Session) -> None:
    """Show the server, the totals of the queue, the busiest channels and the workers."""
    with session.connect() as connection:
        server = next(ServerInfo(*map(str, row)) for row in connection.execute(SERVER))
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
        "server": f"PostgreSQL {server.version}, database {server.database}, user {server.user}",
        "queue": f"schema {session.schema}, installed by {installed_version}",
        **describe_queue(snapshot),
    }
    width = session.out.console.width
    session.out.print_result(document, lambda: render_status(facts, snapshot, width))


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
