"""The period of a report: its range, its time steps, and the source of its data.

A day or longer is made of whole UTC days, from the analytics tables of the lake. A shorter range is computed directly
from history, in steps that give at most 240 points.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from lonnymq.analytics.columns import HOUR_MS
from lonnymq.analytics.period import Period, analyze_history, analyze_lake, read_channel_settings
from lonnymq.analytics.refresh import Progress, compute_day_versions, refresh_analytics
from lonnymq.errors import InvalidArgument
from lonnymq.lake.dataframes import read_history
from lonnymq.lake.location import HISTORY, Lake, resolve_lake
from lonnymq.lake.tables import open_table

DAY = timedelta(days=1)
DEFAULT_DAYS = 7
MAX_POINTS = 240
STEPS_MS = (1_000, 5_000, 10_000, 30_000, 60_000, 300_000, 600_000)
NEVER = datetime(2000, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class TimeRange:
    """A time range, the end not included."""

    begin: datetime
    end: datetime

    @property
    def is_short(self) -> bool:
        """Whether the range is shorter than a day."""
        return self.end - self.begin < DAY

    def of_days(self) -> TimeRange:
        """The range widened to whole days."""
        last = floor_day(self.end)
        return TimeRange(floor_day(self.begin), last if last == self.end else last + DAY)


def load_period(
    spark: SparkSession,
    lake: Lake | Path | str,
    *,
    begin: datetime | None = None,
    end: datetime | None = None,
    source: str | None = None,
    on_progress: Progress | None = None,
) -> Period:
    """The statistics of a period. Days that the lake lacks are computed first."""
    location = resolve_lake(lake)
    days = list_days(location, source)
    asked = choose_range(spark, location, days, begin, end, source)
    if asked.is_short:
        return analyze_short_range(spark, location, asked, source)
    whole = asked.of_days()
    refresh_analytics(spark, location, source=source, on_progress=on_progress)
    known = find_last_time(spark, location, days[-1], source) if days else None
    return analyze_lake(
        spark, location, begin=whole.begin, end=whole.end, source=source, known_until=known
    )


def list_days(lake: Lake, source: str | None) -> list[date]:
    """The days with history in the lake."""
    found = compute_day_versions(open_table(lake, HISTORY))
    names = sorted({name for name, _ in found})
    if source is not None and found and source not in names:
        raise InvalidArgument(f"the lake has no source {source!r}, only {', '.join(names)}")
    return sorted({day for name, day in found if source in (None, name)})


def choose_range(
    spark: SparkSession,
    lake: Lake,
    days: list[date],
    begin: datetime | None,
    end: datetime | None,
    source: str | None,
) -> TimeRange:
    """The requested range. Default: the last week in the lake, or all history if shorter than a day."""
    today = datetime.now(UTC).date()
    last = end or (day_start(days[-1]) + DAY if days else day_start(today) + DAY)
    first = begin or max(day_start(days[0]) if days else NEVER, last - DEFAULT_DAYS * DAY)
    if first >= last:
        raise InvalidArgument(f"the end of the report, {last}, must be after the start, {first}")
    if begin or end or last - first > 2 * DAY:
        return TimeRange(first, last)
    return find_extent(spark, lake, TimeRange(first, last), source)


def find_extent(
    spark: SparkSession, lake: Lake, within: TimeRange, source: str | None
) -> TimeRange:
    """The range from the first to the last attempt, in whole seconds."""
    rows = read_history(spark, lake, within.begin, within.end, source)
    moments = rows.select(
        F.min(F.unix_millis("created_at")).alias("first"),
        F.max(F.unix_millis("finished_at")).alias("last"),
    ).head()
    if moments is None or moments["first"] is None:
        return within
    first, last = moments["first"] // 1000, moments["last"] // 1000 + 1
    found = TimeRange(datetime.fromtimestamp(first, UTC), datetime.fromtimestamp(last, UTC))
    return found if found.is_short else within


def analyze_short_range(
    spark: SparkSession, lake: Lake, asked: TimeRange, source: str | None
) -> Period:
    """Statistics of a short range, from its rows and those that ended up to a day later."""
    history = read_history(spark, lake, asked.begin, asked.end + DAY, source)
    long_ms = (asked.end - asked.begin) / timedelta(milliseconds=1)
    every_ms = next((step for step in STEPS_MS if long_ms / step <= MAX_POINTS), HOUR_MS)
    return analyze_history(
        history,
        read_channel_settings(spark, lake, source),
        begin=asked.begin,
        end=asked.end,
        every_ms=every_ms,
    )


def find_last_time(
    spark: SparkSession, lake: Lake, day: date, source: str | None
) -> datetime | None:
    """The end of the last attempt in the lake."""
    rows = read_history(spark, lake, day, day + DAY, source)
    found = rows.select(F.max(F.unix_millis("finished_at"))).head()
    last = found[0] if found else None
    return datetime.fromtimestamp(last / 1000, UTC) if last is not None else None


def floor_day(moment: datetime) -> datetime:
    """Midnight of the UTC day of a time."""
    return day_start(moment.astimezone(UTC).date())


def day_start(day: date) -> datetime:
    """Midnight of a UTC day."""
    return datetime(day.year, day.month, day.day, tzinfo=UTC)
