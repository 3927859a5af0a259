"""DataFrames as rows, as series with a value for each time step, and as CSV files."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from lonnymq.analytics.period import Period, cached

Rows = list[dict[str, Any]]
SERIES_COLUMNS = (
    "due", "ended", "waiting_after", "running_mean", "wait_p50", "wait_p95", "wait_p99",
    "service_p95", "failed", "dead", "concurrency_used", "rate_used",
)  # fmt: skip


def collect_rows(frame: DataFrame) -> Rows:
    """Collect a small frame; times as epoch milliseconds, days as text."""
    days = [name for name, kind in frame.dtypes if kind == "date"]
    texts = {name: F.col(name).cast("string") for name in days}
    rows: Rows = add_columns(to_milliseconds(frame), texts).toArrow().to_pylist()
    return rows


def add_columns(frame: DataFrame, columns: dict[str, Column]) -> DataFrame:
    """The frame with these columns, perhaps none: Spark Connect does not take none."""
    return frame.withColumns(columns) if columns else frame


def to_milliseconds(frame: DataFrame) -> DataFrame:
    """A frame with times as numbers: what Python makes of a timestamp depends on this machine's zone."""
    times = [name for name, kind in frame.dtypes if kind == "timestamp"]
    return add_columns(frame, {name: F.unix_millis(name) for name in times})


def to_columns(rows: Rows) -> dict[str, list[Any]]:
    """Rows as columns, so that JSON holds each name once."""
    return {name: [round_number(each[name]) for each in rows] for name in rows[0]} if rows else {}


def round_number(value: Any) -> Any:
    """A number with the digits that a page shows."""
    return float(f"{value:.4g}") if isinstance(value, float) else value


def to_epoch_ms(moment: datetime) -> int:
    """A time in epoch milliseconds."""
    return round(moment.timestamp() * 1000)


def list_times(period: Period) -> list[int]:
    """The start of each bucket of the period."""
    first = to_epoch_ms(period.begin) // period.every_ms * period.every_ms
    return list(range(first, to_epoch_ms(period.end), period.every_ms))


def collect_details(
    hours: DataFrame, keys: list[tuple[str, str]], times: list[int]
) -> list[dict[str, Any]]:
    """The time series of detailed tenants, in the order of `keys`."""
    spark = hours.sparkSession
    wanted = spark.createDataFrame(
        [(*key, place) for place, key in enumerate(keys)],
        "source string, channel string, place int",
    )
    own = hours.join(F.broadcast(wanted), ["source", "channel"])
    found = collect_rows(own.select("place", "begins_at", *SERIES_COLUMNS))
    place_of = {at: place for place, at in enumerate(times)}
    series: list[dict[str, Any]] = [
        {name: [None] * len(times) for name in SERIES_COLUMNS} for _ in keys
    ]
    for row in found:
        for name in SERIES_COLUMNS:
            series[row["place"]][name][place_of[row["begins_at"]]] = round_number(row[name])
    return [{name: values for name, values in each.items() if any(values)} for each in series]


def align(rows: Rows, times: list[int], names: Sequence[str]) -> dict[str, list[Any]]:
    """Rows of `begins_at` as columns over all times."""
    by_time = {each["begins_at"]: each for each in rows}
    return {name: [round_number(by_time.get(at, {}).get(name)) for at in times] for name in names}


def sum_sources(
    frame: DataFrame, times: list[int], *, sums: Sequence[str], most: Sequence[str] = ()
) -> dict[str, list[Any]]:
    """Sums over all sources, by time."""
    together = frame.groupBy("begins_at").agg(
        *(F.sum(each).alias(each) for each in sums), *(F.max(each).alias(each) for each in most)
    )
    return align(collect_rows(together), times, (*sums, *most))


def split_by_source(frame: DataFrame, times: list[int], names: Sequence[str]) -> dict[str, Any]:
    """Columns over time, by source."""
    found: dict[str, Rows] = {}
    for row in collect_rows(frame):
        found.setdefault(row["source"], []).append(row)
    return {source: align(rows, times, names) for source, rows in sorted(found.items())}


def write_csv_tables(period: Period, folder: Path) -> dict[str, int]:
    """Write all tables as CSV files; returns the rows of each."""
    folder.mkdir(parents=True, exist_ok=True)
    with cached(period.channel_hours):
        return {
            name: write_csv(frame, folder / f"{name}.csv") for name, frame in period.frames.items()
        }


def write_csv(frame: DataFrame, path: Path) -> int:
    """Write a sorted table; partitions come to the driver one after the other."""
    keys = [
        each
        for each in ("source", "begins_at", "channel", "error", "horizon_days")
        if each in frame.columns
    ]
    moments = {name for name, kind in frame.dtypes if kind == "timestamp"}
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(frame.columns)
        count = 0
        for row in to_milliseconds(frame.sort(*keys)).toLocalIterator():
            pairs = zip(frame.columns, row, strict=True)
            writer.writerow(
                [format_value(value, is_moment=name in moments) for name, value in pairs]
            )
            count += 1
    return count


def format_value(value: Any, *, is_moment: bool) -> Any:
    """A value as text for a CSV file."""
    if value is None:
        return ""
    if is_moment:
        return datetime.fromtimestamp(value / 1000, UTC).isoformat(timespec="milliseconds")
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.isoformat() if isinstance(value, date) else value
