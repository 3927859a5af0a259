"""The show itself: a server, workers and tenants for half a minute, a live screen, and a summary that was counted."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from rich import box
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from examples.demo.jobs import CODEC
from examples.demo.lake_report import run_report_step
from examples.demo.processes import WorkerProcesses
from examples.demo.promises import Promise, Wait, promises, waits
from examples.demo.scenario import FLOODING, Scenario
from examples.demo.spark_queue import run_spark_step
from lonnymq import Queue
from lonnymq.cli.channel_screen import SnapshotReader, View, render_screen
from lonnymq.doctor.base import CheckContext
from lonnymq.doctor.queue_checks import check_invariants
from lonnymq.embedded_postgres import temporary
from lonnymq.text import format_duration

WORKERS = 3
BEAT = 0.25  # seconds between two jobs of a quiet tenant
FEEDS_FOR, KILL_AT, ENDS_WITHIN = 8.0, 4.0, 100.0


def run(*, keep: bool = False, report: Path | None = None) -> int:
    """Give the show; 0 if every promise was kept. With a file for the report, Spark writes one at the end."""
    console = Console(highlight=False)
    console.print("A private PostgreSQL, three worker processes, five tenants: one moment.")
    with ExitStack() as stack:
        codec = Path(stack.enter_context(TemporaryDirectory())) / "codec"
        os.environ[CODEC] = str(codec)
        server = stack.enter_context(temporary())
        queue = stack.enter_context(Queue(server.dsn))
        queue.install()
        workers = stack.enter_context(WorkerProcesses(server.dsn))
        workers.start(WORKERS)
        workers.wait_until_started(queue, WORKERS)
        scenario = Scenario(queue, codec)
        act(console, queue, scenario, workers)
        kept = conclude(console, queue, scenario, server.dsn, workers, keep=keep)
        if report is not None:
            kept = on_spark(console, queue, server.dsn, report, keep=keep) and kept
        if keep:
            with suppress(KeyboardInterrupt):
                stay(console, scenario, server.dsn)
    return 0 if kept else 1


def on_spark(console: Console, queue: Queue, dsn: str, file: Path, *, keep: bool) -> bool:
    """What Spark does with a queue and with its history; whether all was kept."""
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")  # nobody else is to hear of it
    with console.status("Spark is at work"):
        results = run_spark_step(console, dsn)
        attempts = None if keep else len(queue.history_read())
        results += run_report_step(console, dsn, attempts, file)
    console.print(promises_table(results))
    console.print(f"\nThe report of this show: {file.as_uri()}", soft_wrap=True)
    return all(each.kept for each in results)


def act(console: Console, queue: Queue, scenario: Scenario, workers: WorkerProcesses) -> None:
    """Everything that happens, with the screen going on."""
    reader, view = SnapshotReader(queue, None), View(rows=8, width=console.width)
    shown = 0
    with Live(console=console, auto_refresh=False, transient=True) as area:
        for _ in beats(queue, scenario, workers):
            if console.is_terminal:
                events = Text("\n".join(f"· {each}" for each in scenario.events[-6:]))
                picture = render_screen(reader.read(), view, title="A video service")
                area.update(Group(picture, events), refresh=True)
            else:
                for each in scenario.events[shown:]:
                    console.print(f"· {each}")
                shown = len(scenario.events)


def beats(queue: Queue, scenario: Scenario, workers: WorkerProcesses) -> Iterator[None]:
    """The course of events, a beat at a time, until the queue is empty."""
    scenario.begin()
    began, turns = time.monotonic(), scenario.turns()
    while (passed := time.monotonic() - began) < ENDS_WITHIN:
        if passed < FEEDS_FOR:
            scenario.go_on()
            next(turns, None)
        if passed >= KILL_AT and scenario.killed is None:
            scenario.killed = workers.kill_one()
            scenario.print(
                f"worker process {scenario.killed.pid} is killed with {len(scenario.killed.jobs)} jobs in hand; "
                "its leases run out in 3 s"
            )
        yield
        if passed >= FEEDS_FOR and remaining(queue) == 0 and not scenario.redriven:
            scenario.redrive()
        elif passed >= FEEDS_FOR and remaining(queue) == 0:
            scenario.print("the queue is empty")
            yield
            return
        time.sleep(BEAT)


def remaining(queue: Queue) -> int:
    """How many messages are live, but for those of the schedule, which has no end."""
    found = queue.channel_stats(limit=100)
    return sum(
        each.waiting + each.scheduled + each.leased for each in found if each.channel != "reports"
    )


def conclude(
    console: Console,
    queue: Queue,
    scenario: Scenario,
    dsn: str,
    workers: WorkerProcesses,
    *,
    keep: bool,
) -> bool:
    """Count, show what was counted, and say whether all was kept."""
    codes = [] if keep else workers.stop()
    rows = queue.history_read()
    results = promises(rows, scenario, left=remaining(queue))
    faults = [] if keep else faults_of(dsn)
    if not keep:
        results += [
            Promise(f"workers told to stop ended with {codes}", codes == [0] * len(codes)),
            Promise(f"faults that queue_check finds: {len(faults)}", not faults),
        ]
    console.print(waits_table(waits(rows)))
    console.print(promises_table(results))
    return all(each.kept for each in results)


def faults_of(dsn: str) -> list[object]:
    """What the doctor finds broken."""
    from psycopg import connect

    with connect(dsn, autocommit=True) as connection:
        return list(check_invariants(CheckContext(connection, "lonnymq")))


def waits_table(found: list[Wait]) -> Table:
    """How long tenants waited, and what a queue by age alone would have done to them."""
    made = Table(
        box=box.SIMPLE_HEAD,
        title="How long jobs waited; and by age alone, with the same workers",
        title_justify="left",
    )
    made.add_column("tenant")
    for name in ("jobs", "typical", "longest", "by age: typical", "by age: longest"):
        made.add_column(name, justify="right")
    for each in found:
        numbers = (each.typical_ms, each.longest_ms, each.by_age_typical_ms, each.by_age_longest_ms)
        style = "dim" if each.tenant == FLOODING else ""
        made.add_row(each.tenant, f"{each.jobs:,}", *map(format_duration, numbers), style=style)
    return made


def promises_table(found: list[Promise]) -> Table:
    """What was promised, and what was counted."""
    made = Table(box=None, show_header=False, title="Counted, not claimed", title_justify="left")
    for each in found:
        made.add_row(
            Text("kept" if each.kept else "BROKEN", style="green" if each.kept else "bold red"),
            Text(each.words),
        )
    return made


def stay(console: Console, scenario: Scenario, dsn: str) -> None:
    """Leave it running, with a job of each quiet tenant a second, until Ctrl-C."""
    console.print(f"\nIt goes on until Ctrl-C. In another terminal:\n  export LONNYMQ_DSN='{dsn}'")
    console.print("  lonnymq watch\n  lonnymq message create acme hello --kind transcode")
    sys.stdout.flush()
    while True:
        scenario.go_on()
        time.sleep(1)
