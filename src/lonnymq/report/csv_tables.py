"""The figures of a report as CSV files: one a figure, with its declared columns, row by row and at any size."""

from __future__ import annotations

import csv
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from lonnymq.analytics.cache import kept
from lonnymq.analytics.period import Period


def write_tables(period: Period, folder: Path) -> dict[str, int]:
    """Write every figure; how many rows each has."""
    folder.mkdir(parents=True, exist_ok=True)
    with kept(period.hours):
        return {
            name: write_table(frame, folder / f"{name}.csv")
            for name, frame in period.frames.items()
        }


def write_table(frame: DataFrame, path: Path) -> int:
    """Write one figure, sorted by what its rows are known by; partitions come to the driver one after the other."""
    keys = [
        each
        for each in ("source", "begins_at", "channel", "error", "horizon_days")
        if each in frame.columns
    ]
    # Moments as numbers: what Python makes of a timestamp depends on this machine's zone.
    moments = {name for name, kind in frame.dtypes if kind == "timestamp"}
    plain = frame.sort(*keys).select(
        *(
            F.unix_millis(each).alias(each) if each in moments else F.col(each)
            for each in frame.columns
        )
    )
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(frame.columns)
        count = 0
        for row in plain.toLocalIterator():
            pairs = zip(frame.columns, row, strict=True)
            writer.writerow([shown(value, is_moment=name in moments) for name, value in pairs])
            count += 1
    return count


def shown(value: Any, *, is_moment: bool) -> Any:
    """A value as a CSV file has it."""
    if value is None:
        return ""
    if is_moment:
        return datetime.fromtimestamp(value / 1000, UTC).isoformat(timespec="milliseconds")
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.isoformat() if isinstance(value, date) else value
