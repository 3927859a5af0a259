"""All statistics of a period as DataFrames, from a lake or from rows of history, and caching of DataFrames."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from lonnymq.analytics.attempts import compute_attempts
from lonnymq.analytics.channel_hours import (
    CHANNELS,
    compute_backlog,
    compute_channel_hours,
    compute_limit_usage,
    compute_tenants,
    compute_totals,
)
from lonnymq.analytics.columns import HOUR_MS
from lonnymq.analytics.fairness import (
    compute_fairness,
    compute_noisy_hours,
    compute_noisy_neighbours,
    join_limits,
)
from lonnymq.analytics.forecast import compute_forecast
from lonnymq.analytics.store import list_aggregates, read_aggregate
from lonnymq.lake.dataframes import read_channels
from lonnymq.lake.location import Lake, resolve_lake
from lonnymq.lake.tables import find_table
from lonnymq.spark.connect import is_connect

MAX_WAIT_SECONDS = 10.0
POLL_SECONDS = 0.02


@dataclass(frozen=True)
class Period:
    """Statistics from `begin` up to `end` (exclusive), in buckets of `every_ms`."""

    aggregates: dict[str, DataFrame]
    channels: DataFrame
    begin: datetime
    end: datetime
    every_ms: int = HOUR_MS
    known_until: datetime | None = None  # history ends here

    @cached_property
    def channel_hours(self) -> DataFrame:
        """A row for each channel and bucket with work."""
        return compute_channel_hours(
            self.aggregates["flow"],
            self.during("outcomes"),
            self.channels,
            begin=self.begin,
            end=self.end,
            every_ms=self.every_ms,
        )

    def during(self, name: str, column: str = "begins_at") -> DataFrame:
        """The rows of an aggregate within the period."""
        at = F.col(column)
        return self.aggregates[name].where((at >= F.lit(self.begin)) & (at < F.lit(self.end)))

    @property
    def frames(self) -> dict[str, DataFrame]:
        """All tables by name."""
        hours = self.channel_hours
        return {
            "channel_hours": hours,
            "tenants": compute_tenants(hours, self.aggregates["histograms"]),
            "totals": compute_totals(self.during("hourly_histograms")),
            "backlog": compute_backlog(hours),
            "fairness": compute_fairness(hours),
            "noisy_hours": compute_noisy_hours(hours),
            "noisy_neighbours": compute_noisy_neighbours(hours),
            "limits": compute_limit_usage(hours),
            "starvation": join_limits(self.during("starvation", "ends_at"), self.channels),
            "errors": self.during("errors", "last_at"),
            "forecast": compute_forecast(
                hours, since=self.begin, until=self.known_until or self.end
            ),
        }


def analyze_history(
    history: DataFrame,
    channels: DataFrame | None = None,
    *,
    begin: datetime,
    end: datetime,
    every_ms: int = HOUR_MS,
) -> Period:
    """Compute the statistics of rows of history. Include rows that ended after `end`: they waited or ran before."""
    rows = compute_attempts(history)
    ended = rows.where(
        (F.col("finished_at") >= F.unix_millis(F.lit(begin)))
        & (F.col("finished_at") < F.unix_millis(F.lit(end)))
    )
    whole = ("flow", "starvation")
    aggregates = {
        aggregate.name: aggregate.make(rows if aggregate.name in whole else ended)
        for aggregate in list_aggregates(every_ms)
    }
    spark = history.sparkSession
    known = channels if channels is not None else spark.createDataFrame([], CHANNELS)
    return Period(aggregates, known, begin, end, every_ms)


def analyze_lake(
    spark: SparkSession,
    lake: Lake | Path | str,
    *,
    begin: datetime,
    end: datetime,
    source: str | None = None,
    known_until: datetime | None = None,
) -> Period:
    """Read the statistics of whole UTC days from a lake; see `refresh_analytics`."""
    location = resolve_lake(lake)
    first, last = (
        begin.astimezone(UTC).date(),
        (end - timedelta(microseconds=1)).astimezone(UTC).date(),
    )
    aggregates = {}
    for aggregate in list_aggregates():
        # Attempts that ended later may have waited or run during the period.
        upto = None if aggregate.name == "flow" else last
        aggregates[aggregate.name] = read_aggregate(
            spark,
            location,
            aggregate.name,
            aggregate.columns,
            first=first,
            last=upto,
            source=source,
        )
    known = read_channel_settings(spark, location, source)
    return Period(aggregates, known, begin, end, known_until=known_until)


def read_channel_settings(spark: SparkSession, lake: Lake, source: str | None) -> DataFrame:
    """The channel settings in the lake; empty without such a table."""
    if find_table(lake, "channels") is None:
        return spark.createDataFrame([], CHANNELS)
    return read_channels(spark, lake, source)


@contextmanager
def cached(
    *frames: DataFrame, level: StorageLevel = StorageLevel.MEMORY_AND_DISK_DESER
) -> Iterator[None]:
    """Cache the frames until the end of the block."""
    for frame in frames:
        frame.persist(level)
    try:
        yield
    finally:
        for frame in frames:
            if not is_connect(frame.sparkSession):
                wait_for_tasks(frame.sparkSession.sparkContext)
            frame.unpersist(blocking=True)


def wait_for_tasks(context: Any) -> None:
    """Wait until no task runs any more, though not for long: others may have work of their own in this session.

    Where one side of a join turns out to be empty Spark gives up the stages of the other and answers, while their
    tasks still run for a moment, and put what they compute into a memory that is not there any longer.
    """
    until = time.monotonic() + MAX_WAIT_SECONDS
    while count_running_tasks(context) and time.monotonic() < until:
        time.sleep(POLL_SECONDS)


def count_running_tasks(context: Any) -> int:
    """How many tasks run on all executors; PySpark's own tracker does not say."""
    executors = context._jsc.sc().statusTracker().getExecutorInfos()
    return sum(each.numRunningTasks() for each in executors)
