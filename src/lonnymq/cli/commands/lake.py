"""`lonnymq lake`: copy history into a lake of Delta tables, show its status, and maintain its files."""

from __future__ import annotations

import logging
import signal
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from threading import Event
from typing import TYPE_CHECKING, Annotated, Any

from lonnymq.cli.errors import unknown_name_error
from lonnymq.cli.options import (
    LakePath,
    StorageOptions,
    Yes,
    argument,
    option,
    parse_settings,
    read_duration,
)
from lonnymq.cli.output import (
    LogLevel,
    format_at_least,
    format_number,
    format_timestamp,
    log_to_stderr,
    make_list,
    make_table,
)
from lonnymq.cli.session import Conf, Master, Session, Ship, command, create_group, open_spark
from lonnymq.text import NOTHING, format_count, format_duration

if TYPE_CHECKING:
    from lonnymq.lake.maintenance import LakeStatus, SourceLag
    from lonnymq.lake.syncer import Syncer, SyncResult
    from lonnymq.results import HistoryLag

logger = logging.getLogger("lonnymq.lake")

STORAGE = "--storage-option"
Source = Annotated[
    str | None, option("Name of the database in the lake. Default: its own name.", metavar="NAME")
]
Follow = Annotated[bool, option("Continue until SIGTERM or Ctrl-C.", "--follow")]
Interval = Annotated[str, option("Time to wait when there is no new history.", metavar="TIME")]
Rows = Annotated[int | None, option("Approximate number of rows per commit.", min=1)]
Content = Annotated[
    bool, option("Copy contents, if the queue keeps contents.", "--content/--no-content")
]
Adopt = Annotated[
    bool,
    option("Accept a restored or upgraded database as the same source of the lake.", "--adopt"),
]
OlderThan = Annotated[str, option("Minimum age of a deleted file, at least 1h.", metavar="TIME")]
DryRun = Annotated[bool, option("Only count the files.", "--dry-run")]
Reader = Annotated[str, argument("Reader from lake status.", "READER")]

app = create_group("Copy history into a lake, and maintain the lake.")


@command(app, "sync")
def sync_lake(
    session: Session,
    lake: LakePath,
    source: Source = None,
    follow: Follow = False,
    interval: Interval = "10s",
    rows: Rows = None,
    content: Content = True,
    adopt: Adopt = False,
    storage: StorageOptions = None,
    master: Master = None,
    conf: Conf = None,
    ship: Ship = True,
    log_level: LogLevel = "info",
) -> None:
    """Copy settled history into the lake. With --follow the command continues with new history.

    Spark's tasks write the files, and a commit per batch adds the files to the table. Each row is in the lake exactly
    once, even if you kill the command and start again. On SIGTERM and Ctrl-C the current batch is the last, and the
    command exits with 0.
    """
    from lonnymq.lake.location import resolve_lake
    from lonnymq.lake.source import identify_source
    from lonnymq.lake.syncer import Syncer

    log_to_stderr(log_level, as_json=session.out.as_json)
    wait = read_duration(interval, "--interval") / 1000
    location = resolve_lake(lake, parse_settings(storage, STORAGE))
    identity = identify_source(session.dsn, schema=session.schema, source=source, adopt=adopt)
    until = Event()
    with (
        open_spark(master, conf, ship=ship, app="lonnymq lake") as spark,
        stop_on_signals(until),
        Syncer(spark, location, identity, with_content=content, rows=rows) as syncer,
    ):
        if not follow:
            sync_once(session, syncer, until)
            return
        for result in syncer.follow(until, interval=wait):
            if session.out.as_json:
                session.out.print_json(result)
            else:
                logger.info("%s", format_result(result))


@contextmanager
def stop_on_signals(until: Event) -> Iterator[None]:
    """Set the event on SIGTERM and Ctrl-C."""
    before = {
        each: signal.signal(each, lambda *_: until.set())
        for each in (signal.SIGTERM, signal.SIGINT)
    }
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def sync_once(session: Session, syncer: Syncer, until: Event) -> None:
    """Copy all settled history with a progress bar, and print the result."""
    from lonnymq.lake.syncer import sum_batches

    lag = syncer.queue.history_lag(syncer.next_position())
    with session.out.progress() as progress:
        task = progress.add_task("rows", total=lag.ready if lag.counted_exactly else None)

        def report_batches() -> Iterable[SyncResult]:
            for each in syncer.sync_batches(until):
                progress.advance(task, each.rows)
                if not sys.stderr.isatty():
                    logger.info("%s", format_result(each))
                yield each

        result = sum_batches(report_batches(), syncer.database)
    session.out.print_result(result, lambda: format_result(result))


def format_result(result: SyncResult) -> str:
    """The number of copied rows and the rate."""
    if not result.rows:
        return f"no new history of {result.source}"
    rate = result.rows / result.seconds if result.seconds else 0
    return (
        f"{format_count(result.rows, 'row')} of {result.source} in {format_count(result.files, 'file')}, "
        f"{result.bytes:,} bytes, up to {result.upto}: {format_duration(result.seconds * 1000)}, "
        f"{rate:,.0f} rows per second"
    )


@command(app, "status")
def show_lake_status(
    session: Session, lake: LakePath, source: Source = None, storage: StorageOptions = None
) -> None:
    """Show the sources of the lake, how far the lake is behind the database, and why."""
    from lonnymq.lake.maintenance import read_status

    options = parse_settings(storage, STORAGE)
    with session.out.show_status("reading the lake"):
        if session.common.has_database:
            found = read_status(
                lake, url=session.dsn, schema=session.schema, source=source, storage_options=options
            )
        else:
            found = read_status(lake, storage_options=options)
            session.out.print_note("You named no database with --dsn, so the lag is unknown.")
    session.out.print_result(found, lambda: render_lake_status(found))


def render_lake_status(found: LakeStatus) -> Any:
    """The page for people."""
    from rich.console import Group
    from rich.text import Text

    sources = (
        [each.source, each.rows, each.files, each.bytes, each.first_day, each.last_day]
        for each in found.sources
    )
    parts: list[Any] = [
        make_list({"lake": found.lake, "version": found.version}),
        make_table("source", ">rows", ">files", ">bytes", "from", "to", rows=sources),
    ]
    if found.behind:
        parts += [Text("Behind the database", style="bold"), make_list(describe_lag(found.behind))]
    if found.readers:
        readers = (
            [each.name, each.confirmed, format_timestamp(each.confirmed_at)]
            for each in found.readers
        )
        parts += [
            Text("\nReaders that keep history in the database", style="bold"),
            make_table("reader", ">confirmed up to", "at", rows=readers),
        ]
    return Group(*parts)


def describe_lag(behind: SourceLag) -> dict[str, object]:
    """How far the lake is behind, and the transaction that holds rows back."""
    rewind = (
        ""
        if behind.rewind_to is None
        else f". The database only has history up to {behind.rewind_to}, where the next sync starts"
    )
    return {
        "source": behind.source,
        "in the lake": f"up to {behind.upto}{rewind}",
        "confirmed": NOTHING if behind.confirmed is None else f"up to {behind.confirmed}",
        "rows": format_missing_rows(behind),
        "time": format_duration(behind.behind_ms),
        "transactions": format_number(behind.transactions),
        "held back by": format_holder(behind.lag),
    }


def format_missing_rows(behind: SourceLag) -> str:
    """The number of rows that are not in the lake, and how many of them a sync can copy now."""
    rows = format_at_least(behind.rows, "row", exact=behind.rows_exact)
    if not behind.rows:
        return rows
    return f"{rows}, {behind.lag.ready:,} ready, {behind.rows_held:,} held back"


def format_holder(lag: HistoryLag) -> str:
    """The oldest open transaction that has written, as far as the user can see it."""
    if not lag.is_held:
        return "nothing"
    where = f" in database {lag.holder_database}" if lag.holder_database else ""
    open_for = ""
    if lag.holder_since:
        seconds = (datetime.now(UTC) - lag.holder_since).total_seconds()
        open_for = f", open for {format_duration(seconds * 1000)}"
    if lag.holder_prepared is not None:
        return f"prepared transaction {lag.holder_prepared!r} of {lag.holder_user}{where}{open_for}"
    if lag.holder_pid is None:
        return f"transaction {lag.horizon}, only visible to members of pg_read_all_stats"
    return (
        f"pid {lag.holder_pid}, {lag.holder_application or 'without a name'}, user {lag.holder_user}"
        f"{where}, {lag.holder_state}{open_for}"
    )


@command(app, "compact")
def compact_lake(session: Session, lake: LakePath, storage: StorageOptions = None) -> None:
    """Merge small files into large files. Readers of the lake are not disturbed."""
    from lonnymq.lake.maintenance import compact

    with session.out.show_status("compacting"):
        found = compact(lake, storage_options=parse_settings(storage, STORAGE))
    rows = ([each.table, each.files_before, each.files_after] for each in found)
    session.out.print_result(
        found, lambda: make_table("table", ">files before", ">files after", rows=rows)
    )


@command(app, "vacuum")
def vacuum_lake(
    session: Session,
    lake: LakePath,
    older_than: OlderThan = "7d",
    dry_run: DryRun = False,
    storage: StorageOptions = None,
) -> None:
    """Delete files that no table uses: leftovers of compaction and of killed syncs."""
    from lonnymq.lake.maintenance import vacuum

    age = timedelta(milliseconds=read_duration(older_than, "--older-than"))
    options = parse_settings(storage, STORAGE)
    with session.out.show_status("searching files"):
        found = vacuum(lake, older_than=age, dry_run=dry_run, storage_options=options)
    count = format_count(sum(len(each.files) for each in found), "file")
    verb = "would be deleted" if dry_run else "deleted"
    session.out.print_result(found, lambda: f"{count} {verb}")


@command(app, "forget")
def forget_reader(session: Session, reader: Reader, yes: Yes = False) -> None:
    """Forget a reader that you no longer use, so that PostgreSQL can drop old history."""
    session.confirm(
        f"This will forget the reader '{reader}'. PostgreSQL may then drop history that the "
        "reader has not copied.",
        yes=yes,
    )
    answer = session.queue.history_forget(reader)
    if answer == "not_found":
        raise unknown_name_error("reader", reader)
    session.out.print_result({"reader": reader, "answer": answer}, lambda: f"{reader}: {answer}")
