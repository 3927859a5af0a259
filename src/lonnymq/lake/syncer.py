"""Copies history into the lake, batch by batch, each exactly once; runs on the driver.

A batch is the history from one position up to another, all of whose transactions have ended: every read of a batch
returns the same rows. Tasks write the files. One commit adds the files to the table and moves the source's progress in
the table's log. Then the position is confirmed to PostgreSQL, which may drop old history.

The next batch begins where both agree. The lake rewinds if the database knows less than the lake has: the database lost
its last transactions, or the sync was killed between commit and confirmation.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from psycopg import OperationalError

from lonnymq.client import Queue
from lonnymq.errors import InvalidArgument, LonnyMQError, Unreachable
from lonnymq.lake.channel_settings import ChannelSettings
from lonnymq.lake.commit import SyncStep, commit_files, commit_rewind, sync_to_disk
from lonnymq.lake.errors import DatabaseRestored
from lonnymq.lake.export import ExportJob, WrittenFile, run_export
from lonnymq.lake.location import HISTORY, Lake, resolve_lake
from lonnymq.lake.source import (
    APPLICATION_NAME,
    Rewinds,
    SourceDatabase,
    SyncTransaction,
    fetch_queue_limit,
    identify_source,
    lock_source,
    read_rewinds,
    rewind_count_key,
)
from lonnymq.lake.tables import ensure_table
from lonnymq.results import HistoryPart
from lonnymq.spark.connect import count_slots
from lonnymq.spark.connection import conninfo

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from pyspark.sql import SparkSession

logger = logging.getLogger("lonnymq.lake")
TASK_ROWS = 500_000
MIN_TASKS = 10
SETTINGS_INTERVAL = 60.0  # seconds: reading the settings of many channels takes time
MAX_FAILURES = 5  # in a row, before --follow gives up


@dataclass(frozen=True, slots=True)
class SyncResult:
    """What a batch or a whole sync copied into the lake; `upto` is the next position."""

    source: str
    rows: int
    files: int
    bytes: int
    upto: int
    seconds: float


def sync(
    spark: SparkSession,
    lake: Lake | Path | str,
    *,
    url: str,
    schema: str = "lonnymq",
    source: str | None = None,
    with_content: bool = True,
    rows: int | None = None,
    adopt: bool = False,
    storage_options: Mapping[str, str] | None = None,
) -> SyncResult:
    """Copy all history of ended transactions into the lake, and return what was copied.

    `source` is the name of the database in the lake, by default the database's own name. A commit has about `rows`
    rows, by default five million, or more on a large cluster. Contents are copied if the queue keeps them and
    `with_content` is true. With `adopt` you confirm that this database replaces the source: restored or upgraded.
    """
    location = resolve_lake(lake, storage_options)
    database = identify_source(url, schema=schema, source=source, adopt=adopt)
    with Syncer(spark, location, database, with_content=with_content, rows=rows) as syncer:
        return sum_batches(syncer.sync_batches(Event()), database)


class Syncer:
    """Copies the history of one database into one lake."""

    def __init__(
        self,
        spark: SparkSession,
        lake: Lake,
        database: SourceDatabase,
        *,
        with_content: bool = True,
        rows: int | None = None,
    ) -> None:
        if rows is not None and rows < 1:
            raise InvalidArgument(f"rows must be 1 or more, not {rows}")
        self.spark, self.lake, self.database = spark, lake, database
        self.with_content = with_content
        at_once = count_slots(spark)
        self.tasks = max(MIN_TASKS, 2 * at_once) if rows is None else at_once
        self.task_rows = TASK_ROWS if rows is None else ceil(rows / at_once)
        self.reader = database.reader(ensure_table(lake, HISTORY))
        self.settings, self.settings_due = ChannelSettings(lake, database.source), 0.0
        self.rewinds = Rewinds()  # as they were when the batch began
        self.queue = Queue(
            conninfo(database.options, name=APPLICATION_NAME), schema=database.options.schema
        )

    def __enter__(self) -> Syncer:
        self.warn_of_lost_commits()
        return self

    def __exit__(self, *_: object) -> None:
        self.queue.close()

    def follow(self, until: Event, *, interval: float) -> Iterator[SyncResult]:
        """Copy batches until asked to stop, and look for more every `interval` seconds.

        An unreachable database is retried for ever, any other failure MAX_FAILURES times in a row.
        """
        failures = 0
        while not until.is_set():
            try:
                yield from self.sync_batches(until)
                failures = 0
            except (Unreachable, OperationalError) as error:
                logger.warning("database unreachable, retrying: %s", error)
            except LonnyMQError:
                raise
            except Exception as error:
                failures += 1
                if failures > MAX_FAILURES:
                    raise
                logger.warning("sync failed, retrying: %s", error)
            until.wait(interval)

    def sync_batches(self, until: Event) -> Iterator[SyncResult]:
        """Copy batches until all ended transactions are in the lake, or until asked to stop."""
        if time.monotonic() >= self.settings_due:
            self.sync_settings(until)
        while not until.is_set() and (synced := self.sync_batch(until)):
            yield synced

    def sync_settings(self, until: Event) -> None:
        """Copy changed channel settings."""
        with lock_source(self.database, self.reader, until) as transaction:
            if transaction is not None:
                self.find_start(transaction)
                self.settings.sync(self.queue, fetch_queue_limit(self.database))
                self.settings_due = time.monotonic() + SETTINGS_INTERVAL

    def sync_batch(self, until: Event) -> SyncResult | None:
        """Copy the next batch; None if there is none, or if asked to stop."""
        started = time.perf_counter()
        with lock_source(self.database, self.reader, until) as transaction:
            if transaction is None:
                return None
            since = self.find_start(transaction)
            parts = transaction.queue.history_cut(since or 0, rows=self.task_rows, parts=self.tasks)
            transaction.release_snapshot()
            if not parts:
                return None
            files, upto = run_export(self.spark, self.make_job(parts)), parts[-1].upto
            self.commit(files, since, upto)
            self.confirm(transaction.queue, upto)
        return make_result(self.database.source, files, upto, time.perf_counter() - started)

    def find_start(self, transaction: SyncTransaction) -> int | None:
        """The position of the next batch: the table's, or an earlier one that the database knows."""
        self.database = transaction.database
        table = self.table()
        reached = self.database.synced_position(table)
        self.rewinds = read_rewinds(table, self.database.source)
        found = transaction.queue.history_resume(self.reader, reached or 0)
        transaction.release_snapshot()
        if reached is None:
            self.confirm(self.queue, 0)
        elif found.answer == "unknown":
            self.check_reader_known(table, reached, found.since)
            self.confirm(self.queue, reached)
        else:
            reached = self.rewind(table, reached, found.since)
        self.database = replace(self.database, is_adopted=False)  # the table's log knows by now
        return reached

    def check_reader_known(self, table: DeltaTable, reached: int, since: int) -> None:
        """Raise unless a database that does not know the lake is certainly the one that the lake follows."""
        if since == reached and self.database.server_history(table).is_current(
            self.database.server_id
        ):
            return
        raise DatabaseRestored(
            f"the lake has {self.database.source} up to position {reached}, but the database does not know this lake: "
            f"the database is older than the first sync, or the lake was forgotten. {DatabaseRestored.__doc__}"
        )

    def rewind(self, table: DeltaTable, reached: int, known: int) -> int:
        """Rewind to what the database knows, if that is less, record the server, and return the position."""
        database, servers = self.database, self.database.server_history(table)
        since = min(reached, known, servers.left_at(database.server_id))
        if since == reached and database.is_recorded(table):
            return since
        if since < reached:
            logger.warning(
                "the lake has %s up to position %s, the database only up to %s: rewinding the lake to that position",
                *(database.source, reached, since),
            )
        lived = servers.moved_to(database.server_id, since).log_entries()
        entries = (
            *database.log_entries,
            *lived,
            *self.rewinds.next_entries(database.source, since),
        )
        step = SyncStep(
            database.progress_key, reached, since, entries=entries, expected=self.expected_entries()
        )
        commit_rewind(self.lake, source=database.source, step=step)
        sync_to_disk(self.lake, [])
        self.rewinds = read_rewinds(self.table(), database.source)
        return since

    def expected_entries(self) -> tuple[tuple[str, int | None], ...]:
        """The log entries that must not change during a batch: another sync has not rewound the lake."""
        return ((rewind_count_key(self.database.source), self.rewinds.count),)

    def commit(self, files: list[WrittenFile], since: int | None, upto: int) -> None:
        """Add a batch to the table and move the source's progress, in one commit."""
        database = self.database
        lived = (
            database.server_history(self.table()).moved_to(database.server_id, upto).log_entries()
        )
        step = SyncStep(
            database.progress_key,
            since,
            upto,
            entries=(*database.log_entries, *lived),
            expected=self.expected_entries(),
        )
        commit_files(self.lake, files, source=database.source, step=step)
        sync_to_disk(self.lake, files)

    def confirm(self, queue: Queue, upto: int) -> None:
        """Tell PostgreSQL that the lake has all history below a position."""
        queue.history_confirm(self.reader, upto=upto)

    def make_job(self, parts: list[HistoryPart]) -> ExportJob:
        """The job for the tasks of a batch."""
        return ExportJob(
            parts=tuple(parts),
            address=self.database.address,
            schema=self.database.options.schema,
            lake=self.lake,
            source=self.database.source,
            with_content=self.with_content,
            by_function=not self.database.may_read_table,
        )

    def next_position(self) -> int:
        """The position of the next batch."""
        reached = self.database.synced_position(self.table()) or 0
        return min(reached, self.queue.history_resume(self.reader, reached).since)

    def table(self) -> DeltaTable:
        """The table as it is now."""
        return ensure_table(self.lake, HISTORY)

    def warn_of_lost_commits(self) -> None:
        """Log a warning if the lake has less than it confirmed: PostgreSQL may have dropped the rest."""
        known = {each.name: each.confirmed for each in self.queue.history_reader_list()}
        reached = self.database.synced_position(self.table()) or 0
        if known.get(self.reader, 0) > reached:
            logger.warning(
                "the lake has %s up to position %s, but confirmed %s before: the lake was restored from a backup. "
                "History that PostgreSQL has dropped since then is missing",
                *(self.database.source, reached, known[self.reader]),
            )


def make_result(source: str, files: list[WrittenFile], upto: int, seconds: float) -> SyncResult:
    """The result of one batch."""
    rows, size = sum(each.rows for each in files), sum(each.bytes for each in files)
    return SyncResult(source, rows, len(files), size, upto, seconds)


def sum_batches(batches: Iterable[SyncResult], database: SourceDatabase) -> SyncResult:
    """The result of all batches together."""
    done = list(batches)
    rows, files, size, seconds = (
        sum(getattr(each, name) for each in done) for name in ("rows", "files", "bytes", "seconds")
    )
    upto = done[-1].upto if done else 0
    return SyncResult(database.source, rows, files, size, upto, float(seconds))
