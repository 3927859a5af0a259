"""Brings history into the lake, slice by slice, each once; runs on the driver.

A slice is the history from one position up to another, all of whose transactions have ended: it has the same rows
whenever it is read. Tasks write its files; one commit makes them part of the table and moves the source's place in the
table's log. PostgreSQL is told afterwards, and may then drop old history.

The next slice begins where both agree. A database that knows of less than the lake has, because it lost its last
transactions or because the sync was killed in between, has the lake go back to what it knows of.
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
from lonnymq.lake.committing import Once, commit_files, commit_rewind
from lonnymq.lake.disk import to_disk
from lonnymq.lake.files import Written
from lonnymq.lake.lives import Rewinds, count_mark, read_rewinds
from lonnymq.lake.origin import NAME, Origin, Turn, origin_at, queue_limit, taking_turns
from lonnymq.lake.parts import Errand, run_errand
from lonnymq.lake.place import HISTORY, Lake, lake_at
from lonnymq.lake.refusals import DatabaseWentBack
from lonnymq.lake.settings import Settings
from lonnymq.lake.tables import made_table
from lonnymq.results import HistoryPart
from lonnymq.spark.connection import conninfo

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
    """What a slice, or a whole sync, has brought into the lake; `upto` is the position that comes next."""

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
    With `adopt` the source is this database from now on: the same one, restored from a dump or on an upgraded server.
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
        self.rewinds = Rewinds()  # as they were when the slice began
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
        with taking_turns(self.origin, self.reader, until) as turn:
            if turn is not None:
                self.begin(turn)
                self.settings.sync(self.queue, queue_limit(self.origin))
                self.settings_due = time.monotonic() + SETTINGS_EVERY

    def slice(self, until: Event) -> Synced | None:
        """Bring the next slice; None: there is none, or somebody said to stop."""
        started = time.perf_counter()
        with taking_turns(self.origin, self.reader, until) as turn:
            if turn is None:
                return None
            since = self.begin(turn)
            parts = turn.queue.history_cut(since or 0, rows=self.task_rows, parts=self.tasks)
            turn.rest()
            if not parts:
                return None
            files, upto = run_errand(self.spark, self.errand(parts)), parts[-1].upto
            self.commit(files, since, upto)
            self.confirm(turn.queue, upto)
        return synced_of(self.origin.source, files, upto, time.perf_counter() - started)

    def begin(self, turn: Turn) -> int | None:
        """Where the next slice begins: where the table is, or further back if the database does not know of that."""
        self.origin = turn.origin
        table = self.table()
        reached, self.rewinds = self.origin.reached(table), read_rewinds(table, self.origin.source)
        found = turn.queue.history_resume(self.reader, reached or 0)
        turn.rest()
        if reached is None:
            self.confirm(self.queue, 0)
        elif found.answer == "unknown":
            self.check_known(table, reached, found.since)
            self.confirm(self.queue, reached)
        else:
            reached = self.follow_back(table, reached, found.since)
        self.origin = replace(self.origin, is_adopted=False)  # the table's log knows by now
        return reached

    def check_known(self, table: DeltaTable, reached: int, since: int) -> None:
        """Raise if a database that does not know the lake is not for certain the one that the lake has followed."""
        if since == reached and self.origin.lives(table).is_present(self.origin.life):
            return
        raise DatabaseWentBack(
            f"the lake has {self.origin.source} up to {reached}, and the database does not know this lake: it is from "
            f"before the lake's first sync, or was told to forget it. {DatabaseWentBack.__doc__}"
        )

    def follow_back(self, table: DeltaTable, reached: int, known: int) -> int:
        """Go back to what the database knows of, if that is less, and note on which server it is; where that is."""
        origin, lives = self.origin, self.origin.lives(table)
        since = min(reached, known, lives.left_at(origin.life))
        if since == reached and origin.is_marked(table):
            return since
        if since < reached:
            logger.warning(
                "the lake has %s up to %s, and the database up to %s: the lake goes back there and on from there",
                *(origin.source, reached, since),
            )
        lived = lives.moved_to(origin.life, since).marks()
        marks = (*origin.marks, *lived, *self.rewinds.after(origin.source, since))
        once = Once(origin.app, reached, since, marks=marks, seen=self.seen())
        commit_rewind(self.lake, source=origin.source, once=once)
        to_disk(self.lake, [])
        self.rewinds = read_rewinds(self.table(), origin.source)
        return since

    def seen(self) -> tuple[tuple[str, int | None], ...]:
        """What must not have changed since the slice began: that nobody went back meanwhile."""
        return ((count_mark(self.origin.source), self.rewinds.count),)

    def commit(self, files: list[Written], since: int | None, upto: int) -> None:
        """Make a slice part of the table, and move the source's place in it, at once."""
        origin = self.origin
        lived = origin.lives(self.table()).moved_to(origin.life, upto).marks()
        once = Once(origin.app, since, upto, marks=(*origin.marks, *lived), seen=self.seen())
        commit_files(self.lake, files, source=origin.source, once=once)
        to_disk(self.lake, files)

    def confirm(self, queue: Queue, upto: int) -> None:
        """Tell PostgreSQL that history below is safe in the lake."""
        queue.history_confirm(self.reader, upto=upto)

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

    def next_position(self) -> int:
        """Where the next slice will begin."""
        reached = self.origin.reached(self.table()) or 0
        return min(reached, self.queue.history_resume(self.reader, reached).since)

    def table(self) -> DeltaTable:
        """The table as it is now."""
        return made_table(self.lake, HISTORY)

    def warn_of_lost_commits(self) -> None:
        """Say so if the lake has less than it had confirmed: the rest may be gone from PostgreSQL."""
        known = {each.name: each.confirmed for each in self.queue.history_reader_list()}
        reached = self.origin.reached(self.table()) or 0
        if known.get(self.reader, 0) > reached:
            logger.warning(
                "the lake has %s up to %s, but had it up to %s: it was put back; "
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
