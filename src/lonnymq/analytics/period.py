"""All figures of a period, as DataFrames: from those that a lake keeps, or straight from rows of history."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from lonnymq.analytics.attempts import attempts
from lonnymq.analytics.channel_hours import backlog, hours, limits, tenants, totals
from lonnymq.analytics.channel_settings import CHANNELS
from lonnymq.analytics.fairness import fairness, noise, noisy
from lonnymq.analytics.forecast import forecast
from lonnymq.analytics.starvation import starved
from lonnymq.analytics.store import parts, read_figure
from lonnymq.analytics.time_buckets import HOUR_MS
from lonnymq.lake.dataframes import read_channels
from lonnymq.lake.location import Lake, lake_at
from lonnymq.lake.tables import find_table


@dataclass(frozen=True)
class Period:
    """The figures from `begin` up to `end`, which is not included, in buckets of `every_ms`."""

    kept: dict[str, DataFrame]
    channels: DataFrame
    begin: datetime
    end: datetime
    every_ms: int = HOUR_MS
    known_until: datetime | None = None  # from when on nothing is known yet

    @cached_property
    def hours(self) -> DataFrame:
        """Each channel in each bucket in which it had anything to do."""
        return hours(
            self.kept["flow"],
            self.during("hourly"),
            self.channels,
            begin=self.begin,
            end=self.end,
            every_ms=self.every_ms,
        )

    def during(self, name: str, column: str = "begins_at") -> DataFrame:
        """The rows of a kept figure that lie in the period."""
        at = F.col(column)
        return self.kept[name].where((at >= F.lit(self.begin)) & (at < F.lit(self.end)))

    @property
    def frames(self) -> dict[str, DataFrame]:
        """Every figure by its name."""
        hours = self.hours
        return {
            "hours": hours,
            "tenants": tenants(hours, self.kept["spreads"]),
            "totals": totals(self.during("pulse")),
            "backlog": backlog(hours),
            "fairness": fairness(hours),
            "noise": noise(hours),
            "noisy": noisy(hours),
            "limits": limits(hours),
            "starvation": starved(self.during("starvation", "ends_at"), self.channels),
            "errors": self.during("errors", "last_at"),
            "forecast": forecast(hours, since=self.begin, until=self.known_until or self.end),
        }


def of_history(
    history: DataFrame,
    channels: DataFrame | None = None,
    *,
    begin: datetime,
    end: datetime,
    every_ms: int = HOUR_MS,
) -> Period:
    """The figures of rows of history, computed now; give it the rows that ended after `end` as well, if there are any:
    they waited or ran during the period."""
    rows = attempts(history)
    ended = rows.where(
        (F.col("finished_at") >= F.unix_millis(F.lit(begin)))
        & (F.col("finished_at") < F.unix_millis(F.lit(end)))
    )
    whole = ("flow", "starvation")
    kept = {part.name: part.make(rows if part.name in whole else ended) for part in parts(every_ms)}
    spark = history.sparkSession
    known = channels if channels is not None else spark.createDataFrame([], CHANNELS)
    return Period(kept, known, begin, end, every_ms)


def of_lake(
    spark: SparkSession,
    lake: Lake | Path | str,
    *,
    begin: datetime,
    end: datetime,
    source: str | None = None,
    known_until: datetime | None = None,
) -> Period:
    """The figures that a lake keeps of the whole UTC days from `begin` to `end`; see `refresh`."""
    place = lake_at(lake)
    first, last = (
        begin.astimezone(UTC).date(),
        (end - timedelta(microseconds=1)).astimezone(UTC).date(),
    )
    kept = {}
    for part in parts():
        # What ended later may have waited or run during the period.
        upto = None if part.name == "flow" else last
        kept[part.name] = read_figure(
            spark, place, part.name, part.columns, first=first, last=upto, source=source
        )
    known = channels_of(spark, place, source)
    return Period(kept, known, begin, end, known_until=known_until)


def channels_of(spark: SparkSession, lake: Lake, source: str | None) -> DataFrame:
    """What the lake knows of channels' settings; nothing if it has no such table."""
    if find_table(lake, "channels") is None:
        return spark.createDataFrame([], CHANNELS)
    return read_channels(spark, lake, source)
