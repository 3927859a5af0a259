"""`lonnymq status`: the queue on one page."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from lonnymq.cli.errors import Code, CommandError, not_installed
from lonnymq.cli.snapshot import Look, Looker
from lonnymq.cli.output.console import pairs, rows, table
from lonnymq.cli.output.channel_screen import View, channels, ordered, speed
from lonnymq.cli.session import Session, command, group
from lonnymq.cli.versions import Installed, Server, installed_at, open_connection, server
from lonnymq.cli.output.formatting import at as moment_words
from lonnymq.cli.output.formatting import number
from lonnymq.text import format_duration

if TYPE_CHECKING:
    from lonnymq.results import WorkerSeen

SHOWN = 10

app = group("The queue on one page.")


@command(app)
def status(at: Session) -> None:
    """Show the queue on one page: where it is, what it holds, its busiest channels, its workers."""
    with open_connection(at) as connection:
        found, there = installed_at(connection, at.schema), server(connection)
    if found is None:
        raise CommandError(not_installed(at.schema), Code.NOT_INSTALLED)
    look = Looker(at.queue, None).look()
    busiest = ordered(look.channels, View())[:SHOWN]
    document = {
        "server": there,
        "schema": at.schema,
        "installed_version": found.library_version,
        "library_version": version("lonnymq"),
        "queue": look.stats,
        "rate": look.rate,
        "channels": busiest,
        "workers": look.workers,
    }
    at.out.answer(document, lambda: page(at, look, found, there))


def page(at: Session, look: Look, found: Installed, there: Server) -> Any:
    """The page for people."""
    from rich.console import Group
    from rich.text import Text

    console = at.out.console
    view = View(rows=SHOWN, width=console.width)
    parts: list[Any] = [pairs(facts(at, look, found, there))]
    if look.channels:
        parts += [Text("\nBusiest channels", style="bold"), channels(look, view)]
    if look.workers:
        parts += [Text("Workers", style="bold"), worker_table(look.workers)]
    return Group(*parts)


def facts(at: Session, look: Look, found: Installed, there: Server) -> dict[str, object]:
    """What there is to say about the whole queue."""
    stats, about = look.stats, "about " if look.stats.estimated else ""
    alive = sum(each.alive for each in look.workers)
    most = f" of {stats.max_concurrency:,} at once" if stats.max_concurrency else ""
    keeps = f", kept {format_duration(stats.history_keep_ms)}" if stats.history_keep_ms else ""
    return {
        "server": f"PostgreSQL {there.version}, database {there.database}, user {there.user}",
        "queue": f"schema {at.schema}, installed by {found.library_version}",
        "waiting": f"{about}{number(stats.waiting)}",
        "running": f"{number(stats.in_flight)}{most}",
        "dead": number(stats.dead),
        "channels": f"{about}{number(stats.channels)}, {number(stats.ready)} ready",
        "finished": f"{speed(look.rate)} a second",
        "next due": moment_words(stats.next_at),
        "history": stats.history + (keeps if stats.history != "off" else ""),
        "workers": f"{alive} alive" if alive else "none alive",
    }


def worker_table(workers: list[WorkerSeen]) -> Any:
    """Workers as people see them."""
    made = table("name", "state", ">running", ">at most", ">seen", ">up", "kinds")
    lines = (
        [
            each.name,
            "stopping" if each.alive and each.stopping else "alive" if each.alive else "gone",
            each.running, each.concurrency, f"{format_duration(each.now_at - each.seen_at)} ago",
            format_duration(each.now_at - each.started_at), kinds(each),
        ]
        for each in workers
    )  # fmt: skip
    return rows(made, lines)


def kinds(worker: WorkerSeen) -> str:
    """The kinds of message that a worker has handlers for."""
    said = (worker.about or {}).get("kinds") or []
    return ", ".join("any" if each is None else str(each) for each in said)
