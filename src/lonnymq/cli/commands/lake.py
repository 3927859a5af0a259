"""`lonnymq lake`: history into a lake of Delta tables, how far it is, and its upkeep."""

from __future__ import annotations

import logging
import signal
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from threading import Event
from typing import TYPE_CHECKING, Annotated

import typer

from lonnymq.cli.confirmation import sure
from lonnymq.cli.errors import Code, CommandError
from lonnymq.cli.commands.lake_page import page
from lonnymq.cli.output.logs import LogLevel, log_to_stderr
from lonnymq.cli.options import Yes
from lonnymq.cli.output.console import rows, table
from lonnymq.cli.session import Session, command, group
from lonnymq.cli.commands.spark_worker import Conf, Master, Ship, span, started
from lonnymq.cli.output.formatting import counted
from lonnymq.errors import NotInstalled
from lonnymq.text import format_duration

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lonnymq.lake.syncer import Syncer, SyncResult

logger = logging.getLogger("lonnymq.lake")

Place = Annotated[
    str,
    typer.Option("--lake", metavar="PATH", help="Where the lake is: a folder, or a URL."),
]
Source = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="The database's name in the lake; else its own."),
]
Storage = Annotated[
    list[str] | None,
    typer.Option(
        "--storage-option", metavar="KEY=VALUE", help="What an object store needs; any number."
    ),
]
Follow = Annotated[bool, typer.Option("--follow", help="Go on until SIGTERM or Ctrl-C.")]
Interval = Annotated[
    str, typer.Option(metavar="TIME", help="How long to wait when there is nothing to do.")
]
Rows = Annotated[int | None, typer.Option(help="About so many rows a commit.", min=1)]
Content = Annotated[
    bool, typer.Option("--content/--no-content", help="Bring contents, if the queue keeps them.")
]
Adopt = Annotated[
    bool,
    typer.Option(
        "--adopt", help="It is the source's database: restored, or on an upgraded server."
    ),
]
OlderThan = Annotated[
    str, typer.Option(metavar="TIME", help="How old a file must be; an hour at least.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be deleted.")]
Reader = Annotated[str, typer.Argument(metavar="READER", help="As lake status names it.")]

app = group("Bring history into a lake, and look after it.")


@command(app)
def sync(
    at: Session,
    lake: Place,
    source: Source = None,
    follow: Follow = False,
    interval: Interval = "10s",
    rows: Rows = None,
    content: Content = True,
    adopt: Adopt = False,
    storage: Storage = None,
    master: Master = None,
    conf: Conf = None,
    ship: Ship = True,
    log_level: LogLevel = "info",
) -> None:
    """Bring history that is settled into the lake: all that there is, or with --follow whatever comes.

    Spark's tasks write the files, one commit a slice makes them part of the table. What is in the lake is there once,
    whenever the command is killed and wherever it begins again. SIGTERM and Ctrl-C let the slice that is under way be
    the last, and the command ends with 0.
    """
    from lonnymq.lake.location import resolve_lake
    from lonnymq.lake.source import identify_source
    from lonnymq.lake.syncer import Syncer

    log_to_stderr(log_level, as_json=at.out.as_json)
    wait, place = span(interval, "--interval"), resolve_lake(lake, pairs_of(storage))
    origin, until = identify_source(at.dsn, schema=at.schema, source=source, adopt=adopt), Event()
    with (
        spark_session(master, conf or [], is_shipped=ship) as spark,
        told_by_signals(until),
        Syncer(spark, place, origin, with_content=content, rows=rows) as syncer,
    ):
        if follow:
            for done in syncer.follow(until, interval=wait / 1000):
                say(at, done)
        else:
            once(at, syncer, until)


@contextmanager
def spark_session(
    master: str | None, conf: list[str], *, is_shipped: bool
) -> Iterator[SparkSession]:
    """A session for the command; one that is there already is used, and not stopped."""
    from pyspark.sql import SparkSession

    is_there = SparkSession.getActiveSession() is not None
    spark = started(master, conf, is_shipped=is_shipped, app="lonnymq lake")
    try:
        yield spark
    finally:
        if not is_there:
            spark.stop()


@contextmanager
def told_by_signals(until: Event) -> Iterator[None]:
    """Let SIGTERM and Ctrl-C say that what is under way is the last."""
    before = {
        each: signal.signal(each, lambda *_: until.set())
        for each in (signal.SIGTERM, signal.SIGINT)
    }
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def once(at: Session, syncer: Syncer, until: Event) -> None:
    """Sync all that there is, with a bar for people, and say what it was."""
    from lonnymq.lake.syncer import sum_batches

    lag = syncer.queue.history_lag(syncer.next_position())
    with at.out.progress() as progress:
        bar = progress.add_task("rows", total=lag.ready if lag.counted_exactly else None)

        def seen() -> Iterable[SyncResult]:
            for each in syncer.sync_batches(until):
                progress.advance(bar, each.rows)
                if not sys.stderr.isatty():
                    logger.info("%s", told(each))
                yield each

        done = sum_batches(seen(), syncer.database)
    at.out.answer(done, lambda: told(done))


def say(at: Session, done: SyncResult) -> None:
    """Tell of a slice: in the log, and with --json a document a line."""
    if at.out.as_json:
        at.out.line(done)
    else:
        logger.info("%s", told(done))


def told(done: SyncResult) -> str:
    """What was brought, in words."""
    if not done.rows:
        return f"nothing new of {done.source}"
    speed = done.rows / done.seconds if done.seconds else 0
    return (
        f"{counted(done.rows, 'row')} of {done.source} in {counted(done.files, 'file')}, {done.bytes:,} bytes, "
        f"up to {done.upto}: {format_duration(done.seconds * 1000)}, {speed:,.0f} rows a second"
    )


@command(app)
def status(at: Session, lake: Place, source: Source = None, storage: Storage = None) -> None:
    """Show what is in the lake, how far it is behind the database, and what holds the rest back."""
    from lonnymq.lake.status import read_status as ask

    options = pairs_of(storage)
    with at.out.working("looking at the lake"):
        try:
            found = ask(lake, url=at.dsn, schema=at.schema, source=source, storage_options=options)
        except NotInstalled:
            if at.common.named_dsn:
                raise
            found = ask(lake, storage_options=options)
            at.out.note("No database was named, and the private one has no queue: see --dsn.")
    at.out.answer(found, lambda: page(found))


@command(app)
def compact(at: Session, lake: Place, storage: Storage = None) -> None:
    """Make few large files of many small ones; who is reading is not disturbed."""
    from lonnymq.lake.maintenance import compact as make_few

    with at.out.working("compacting"):
        found = make_few(lake, storage_options=pairs_of(storage))
    shown = ([each.table, each.files_before, each.files_after] for each in found)
    at.out.answer(found, lambda: rows(table("table", ">files before", ">files after"), shown))


@command(app)
def vacuum(
    at: Session,
    lake: Place,
    older_than: OlderThan = "7d",
    dry_run: DryRun = False,
    storage: Storage = None,
) -> None:
    """Delete files that are in no table: what compaction replaced, and what a killed sync left."""
    from lonnymq.lake.maintenance import vacuum as take_away

    age = timedelta(milliseconds=span(older_than, "--older-than"))
    with at.out.working("looking for files"):
        found = take_away(lake, older_than=age, dry_run=dry_run, storage_options=pairs_of(storage))
    many = sum(len(each.files) for each in found)
    verb = "would be deleted" if dry_run else "deleted"
    at.out.answer(found, lambda: f"{counted(many, 'file')} {verb}")


@command(app)
def forget(at: Session, reader: Reader, yes: Yes = False) -> None:
    """Forget a lake that is given up: it no longer keeps history in PostgreSQL from being dropped."""
    sure(f"This will forget the reader '{reader}': history that it lacks may be dropped.", yes=yes)
    answer = at.queue.history_forget(reader)
    if answer == "not_found":
        raise CommandError(
            f"There is no reader '{reader}'. See which there are: lonnymq lake status --lake PATH"
        )
    at.out.answer({"reader": reader, "answer": answer}, lambda: f"{reader}: {answer}")


def pairs_of(given: list[str] | None) -> dict[str, str]:
    """Options of a storage, by name."""
    wrong = [each for each in given or [] if "=" not in each]
    if wrong:
        raise CommandError(f"'{wrong[0]}' is no option of a storage: write key=value.", Code.USAGE)
    return {key: value for key, _, value in (each.partition("=") for each in given or [])}
