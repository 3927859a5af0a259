"""Brings history into the lake, slice by slice, each once; runs on the driver.

A slice is what transactions from one id up to another have written, all of them ended: it has the same rows whenever
it is read. Tasks write its files; one commit makes them part of the table and moves the source's place in the table's
log. That log alone says where the next slice begins. PostgreSQL is told afterwards, and may then drop old history.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from psycopg import OperationalError

from lonnymq.errors import AboveHorizon, InvalidArgument, LonnyMQError, Unreachable
from lonnymq.lake.committing import Once, commit_files
from lonnymq.lake.disk import to_disk
from lonnymq.lake.files import Written
from lonnymq.lake.origin import NAME, Origin, origin_at, queue_limit, taking_turns
from lonnymq.lake.parts import Errand, run_errand
from lonnymq.lake.place import HISTORY, Lake, lake_at
from lonnymq.lake.refusals import DatabaseWentBack
from lonnymq.lake.settings import Settings
from lonnymq.lake.tables import made_table
from lonnymq.queue import Queue
from lonnymq.results import HistoryPart
from lonnymq.spark.connecting import conninfo

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from pyspark.sql import SparkSession

logger = logging.getLogger("lonnymq.lake")
TASK_ROWS = 500_000
FEWEST_TASKS = 10
SETTINGS_EVERY = 60.0  # seconds: with many channels a look at all of them is no trifle
TRIES = 5  # failures in a row that a sync which goes on puts up with


@dataclass(frozen=True, slots=True)
class Synced:
    """What a slice, or a whole sync, has brought into the lake; `upto` is the transaction that comes next."""

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
) -> Synced:
    """Bring all history that is settled into the lake, and say what that was.

    `source` is the name of the database in the lake, by default its own. A commit has about `rows` rows, by default
    five million, or more on a large cluster. Contents come along if the queue keeps them and `with_content` is true.
    With `adopt` the source is this database from now on: the same one, after an upgrade of its server.
    """
    place = lake_at(lake, storage_options)
    origin = origin_at(url, schema=schema, source=source, adopt=adopt)
    with Syncer(spark, place, origin, with_content=with_content, rows=rows) as syncer:
        return total(syncer.slices(Event()), origin)


class Syncer:
    """A source and a lake between which history is brought."""

    def __init__(
        self,
        spark: SparkSession,
        lake: Lake,
        origin: Origin,
        *,
        with_content: bool = True,
        rows: int | None = None,
    ) -> None:
        if rows is not None and rows < 1:
            raise InvalidArgument(f"rows must be 1 or more, not {rows}")
        self.spark, self.lake, self.origin, self.with_content = spark, lake, origin, with_content
        at_once = spark.sparkContext.defaultParallelism
        self.tasks = max(FEWEST_TASKS, 2 * at_once) if rows is None else at_once
        self.task_rows = TASK_ROWS if rows is None else ceil(rows / at_once)
        self.reader = origin.reader(made_table(lake, HISTORY))
        self.settings, self.settings_due = Settings(lake, origin.source), 0.0
        self.queue = Queue(conninfo(origin.options, name=NAME), schema=origin.options.schema)

    def __enter__(self) -> Syncer:
        self.warn_of_lost_commits()
        return self

    def __exit__(self, *_: object) -> None:
        self.queue.close()

    def follow(self, until: Event, *, interval: float) -> Iterator[Synced]:
        """One slice after the other until told to stop; with nothing to do, look again so many seconds later.

        A database that went away is waited for; anything else that fails is tried again some times.
        """
        failures = 0
        while not until.is_set():
            try:
                yield from self.slices(until)
                failures = 0
            except (Unreachable, OperationalError) as error:
                logger.warning("the database is away, and is waited for: %s", error)
            except LonnyMQError:
                raise
            except Exception as error:
                failures += 1
                if failures > TRIES:
                    raise
                logger.warning("the sync failed, and is tried again: %s", error)
            until.wait(interval)

    def slices(self, until: Event) -> Iterator[Synced]:
        """One slice after the other, until nothing more is settled or somebody says so."""
        if time.monotonic() >= self.settings_due:
            self.bring_settings(until)
        while not until.is_set() and (synced := self.slice(until)):
            yield synced

    def bring_settings(self, until: Event) -> None:
        """Bring what channels are set to, where that has changed."""
        with taking_turns(self.origin, self.reader, until) as is_ours:
            if is_ours:
                self.begin()
                self.settings.sync(self.queue, queue_limit(self.origin))
                self.settings_due = time.monotonic() + SETTINGS_EVERY

    def slice(self, until: Event) -> Synced | None:
        """Bring the next slice; None: there is none, or somebody said to stop."""
        started = time.perf_counter()
        with taking_turns(self.origin, self.reader, until) as is_ours:
            if not is_ours:
                return None
            since = self.begin()
            parts = self.queue.history_cut(since or 0, rows=self.task_rows, parts=self.tasks)
            if not parts:
                return None
            files, upto = run_errand(self.spark, self.errand(parts)), parts[-1].upto
            self.commit(files, since, upto)
            self.confirm(upto)
        return synced_of(self.origin.source, files, upto, time.perf_counter() - started)

    def begin(self) -> int | None:
        """Where the next slice begins, as the table has it; PostgreSQL learns of it if it did not yet."""
        since = self.origin.reached(self.table())
        self.confirm(since or 0)
        return since

    def commit(self, files: list[Written], since: int | None, upto: int) -> None:
        """Make a slice part of the table, and move the source's place in it, at once."""
        once = Once(self.origin.app, since, upto, marks=(self.origin.mark,))
        commit_files(self.lake, files, source=self.origin.source, once=once)
        to_disk(self.lake, files)

    def confirm(self, upto: int) -> None:
        """Tell PostgreSQL that history below is safe in the lake."""
        try:
            self.queue.history_confirm(self.reader, upto=upto)
        except AboveHorizon:
            raise DatabaseWentBack(
                f"the lake has {self.origin.source} up to transaction {upto}, which the database has not reached. "
                f"{DatabaseWentBack.__doc__}"
            ) from None

    def errand(self, parts: list[HistoryPart]) -> Errand:
        """What tasks are sent for."""
        return Errand(
            parts=tuple(parts),
            address=self.origin.address,
            schema=self.origin.options.schema,
            lake=self.lake,
            source=self.origin.source,
            with_content=self.with_content,
            by_function=not self.origin.may_read_table,
        )

    def table(self) -> DeltaTable:
        """The table as it is now."""
        return made_table(self.lake, HISTORY)

    def warn_of_lost_commits(self) -> None:
        """Say so if the lake has less than it had confirmed: the rest may be gone from PostgreSQL."""
        known = {each.name: each.confirmed for each in self.queue.history_reader_list()}
        reached = self.origin.reached(self.table()) or 0
        if known.get(self.reader, 0) > reached:
            logger.warning(
                "the lake has %s up to transaction %s, but had it up to %s: it was put back; "
                "what PostgreSQL has dropped since is missing",
                *(self.origin.source, reached, known[self.reader]),
            )


def synced_of(source: str, files: list[Written], upto: int, seconds: float) -> Synced:
    """What a slice has brought."""
    rows, size = sum(each.rows for each in files), sum(each.bytes for each in files)
    return Synced(source, rows, len(files), size, upto, seconds)


def total(slices: Iterable[Synced], origin: Origin) -> Synced:
    """All slices as one."""
    done = Synced(origin.source, 0, 0, 0, 0, 0.0)
    for each in slices:
        done = Synced(
            each.source,
            done.rows + each.rows,
            done.files + each.files,
            done.bytes + each.bytes,
            each.upto,
            done.seconds + each.seconds,
        )
    return done
