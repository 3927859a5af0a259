"""Refreshes the analytics tables of a lake: computes only the days with new history."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from lonnymq.analytics.attempts import RETURNING_OUTCOMES, compute_attempts, ends_are_few
from lonnymq.analytics.period import cached
from lonnymq.analytics.store import (
    commit_days,
    ensure_aggregate,
    find_aggregate,
    list_aggregates,
    replace_days,
)
from lonnymq.lake.dataframes import read_history
from lonnymq.lake.export import list_written, write_files
from lonnymq.lake.location import ANALYTICS, HISTORY, Lake, resolve_lake
from lonnymq.lake.source import Rewinds, read_rewinds
from lonnymq.lake.tables import list_files, open_table

if TYPE_CHECKING:
    from deltalake import DeltaTable

VERSION = 1  # raise when a definition changes: all days are then computed again
DAYS = "days"
DAYS_COLUMNS = "source string, date date, rows long, mark string, computed_at timestamp"
ROWS_AT_ONCE = 8_000_000
SPARK_SETTINGS = {
    # Spark sorts all rows of a task that has more than 128 groups with percentiles. The groups of so many rows fit into
    # memory: those of 3,300,000 rows, 1,000 tenants and two days were computed in 29 s instead of 48.
    "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": "200000",
    # Attempts lie on disk for a short time: no need to look for the best way to compress each column.
    "spark.sql.inMemoryColumnarStorage.compressed": "false",
}
Key = tuple[str, date]


@dataclass(frozen=True, slots=True)
class RefreshResult:
    """A computed group of days of a source, with its rows and run time."""

    source: str
    days: tuple[date, ...]
    rows: int
    seconds: float


Progress = Callable[[RefreshResult], None]


def refresh_analytics(
    spark: SparkSession,
    lake: Lake | Path | str,
    dates: Iterable[date] | None = None,
    *,
    source: str | None = None,
    rows_at_once: int = ROWS_AT_ONCE,
    on_progress: Progress | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> list[RefreshResult]:
    """Compute the analytics of days with new history, or of the given `dates`.

    `on_progress` is called after each group of days. After a stop the next refresh continues.
    """
    location = resolve_lake(lake, storage_options)
    versions = compute_day_versions(open_table(location, HISTORY))
    known = read_day_versions(location)
    changed = {key for key, (mark, _) in versions.items() if known.get(key) != mark}
    if dates is not None:
        changed = {key for key in versions if key[1] in set(dates)}
    if source is not None:
        changed = {key for key in changed if key[0] == source}
    done = []
    for at in sorted({key[0] for key in changed}):
        own = {day for name, day in changed if name == at}
        days = {day: rows for (name, day), (_, rows) in versions.items() if name == at}
        own |= {day + DAY for day in own if day + DAY in days}  # whose waits look one day back
        for group in group_days(sorted(own), days, rows_at_once):
            began = time.monotonic()
            # Starvation of the day before depends on these days.
            also = [day for day in (group[0] - DAY,) if day in days and day not in own]
            with tuned_session(spark):
                compute_days(spark, location, at, group, also)
            write_day_versions(location, at, {day: versions[at, day] for day in group})
            many = sum(days[day] for day in group)
            done.append(RefreshResult(at, tuple(group), many, time.monotonic() - began))
            if on_progress is not None:
                on_progress(done[-1])
    return done


@contextmanager
def tuned_session(spark: SparkSession) -> Iterator[None]:
    """Set Spark for large groups of days, and restore the settings afterwards."""
    before = {name: spark.conf.get(name) for name in SPARK_SETTINGS}
    for name, value in SPARK_SETTINGS.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, was in before.items():
            spark.conf.unset(name) if was is None else spark.conf.set(name, was)


def group_days(days: list[date], rows: Mapping[date, int], most: int) -> Iterator[list[date]]:
    """Group consecutive days, with at most that many rows in a group."""
    group: list[date] = []
    for day in days:
        is_next = group and day == group[-1] + DAY
        if group and (not is_next or sum(rows[each] for each in group) + rows[day] > most):
            yield group
            group = []
        group.append(day)
    if group:
        yield group


def compute_day_versions(table: DeltaTable) -> dict[Key, tuple[str, int]]:
    """The version of each day of history: its number of rows, because rows are only added.

    After a rewind of the lake, the later days also have the number of the rewind.
    """
    found: dict[Key, int] = {}
    last: dict[Key, int] = {}
    for file in list_files(table):
        if file.day is not None:
            key = (file.source, file.day)
            found[key] = found.get(key, 0) + file.rows
            last[key] = max(last.get(key, 0), file.last_position or 0)
    ways_back = {source: read_rewinds(table, source) for source, _ in found}
    return {
        (source, day): (
            f"{VERSION}:{rows}{rewind_suffix(ways_back[source], last[source, day])}",
            rows,
        )
        for (source, day), rows in found.items()
    }


def rewind_suffix(rewinds: Rewinds, last_position: int) -> str:
    """The suffix of the version of a day whose rows a rewind may have replaced."""
    return f":{rewinds.count}" if last_position >= rewinds.since else ""


def read_day_versions(lake: Lake) -> dict[Key, str]:
    """The versions of the days that were computed."""
    table = find_aggregate(lake, DAYS)
    if table is None:
        return {}
    rows = table.to_pyarrow_table(columns=["source", "date", "mark"]).to_pylist()
    return {(each["source"], each["date"]): each["mark"] for each in rows}


def write_day_versions(lake: Lake, source: str, found: Mapping[date, tuple[str, int]]) -> None:
    """Store the versions of computed days. This is the last step: a killed refresh starts again."""
    schema = ensure_aggregate(lake, DAYS, DAYS_COLUMNS)
    now = int(time.time() * 1_000_000)
    rows = pa.RecordBatch.from_pylist(
        [
            {"source": source, "date": day, "rows": many, "mark": mark, "computed_at": now}
            for day, (mark, many) in found.items()
        ],
        schema=schema,
    )
    files = list_written(write_files([rows], lake, source, f"{ANALYTICS}/{DAYS}"))
    commit_days(lake, DAYS, source, sorted(found), files)


DAY = timedelta(days=1)


def compute_days(
    spark: SparkSession, lake: Lake, source: str, days: Sequence[date], also: Sequence[date] = ()
) -> None:
    """Compute and store all aggregates of consecutive days. Attempts are computed once and cached on disk.

    `also` are days just before, of which only aggregates that look around are computed: their attempts may have ended
    on the first of `days`.
    """
    around = [*also, *days]
    made = read_attempts(spark, lake, source, around).drop("message_id", "source")
    rows = made.withColumn("source", F.lit(source))  # constant, so not cached
    before = read_history(spark, lake, around[0] - DAY, around[0], source)
    begun_before = before.select(
        "source", "channel", F.unix_millis("dequeued_at").alias("dequeued_at")
    )
    with cached(made, level=StorageLevel.DISK_ONLY):
        own = rows.where(F.col("date").isin(list(days)))
        for aggregate in list_aggregates():
            if aggregate.looks_around:
                found = aggregate.make(rows, before=begun_before).where(F.col("date").isin(around))
            else:
                found = aggregate.make(own)
            touched = around if aggregate.looks_around else days
            replace_days(
                found, lake, aggregate.name, aggregate.columns, source=source, days=touched
            )


def read_attempts(spark: SparkSession, lake: Lake, source: str, days: Sequence[date]) -> DataFrame:
    """Attempts that began or ended on these days, and ended at most a day later."""
    midnight = days[-1] + DAY
    history = read_history(spark, lake, days[0], midnight, source)
    later = read_history(spark, lake, midnight, midnight + DAY, source)
    later = later.where(
        F.col("dequeued_at")
        < F.lit(datetime(midnight.year, midnight.month, midnight.day, tzinfo=UTC))
    )
    earlier = read_history(spark, lake, days[0] - DAY, days[0], source)
    earlier = earlier.where(F.col("outcome").isin(*RETURNING_OUTCOMES))
    few = ends_are_few(history.unionByName(earlier))
    return compute_attempts(history.unionByName(later), earlier=earlier, are_few=few)
