"""Rows of history by hand: times are seconds after midnight of a day in 2030."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from lonnymq.analytics.channel_hours import CHANNELS

MIDNIGHT = datetime(2030, 1, 10, tzinfo=UTC)
HISTORY = """
  source string, message_id long, channel string, attempt int, outcome string, dequeue_at long,
  created_at timestamp, dequeued_at timestamp, finished_at timestamp, size long, error string
"""
HOUR = 3600


def at(seconds: float) -> datetime:
    return MIDNIGHT + timedelta(seconds=seconds)


def ms(seconds: float) -> int:
    return round(at(seconds).timestamp() * 1000)


def attempt(
    channel: str, created: float, dequeued: float, finished: float, **other: Any
) -> dict[str, Any]:
    """An attempt; due when it was created unless `due` is given (seconds), or `dequeue_at` (epoch milliseconds)."""
    due = ms(other.pop("due", created))
    row = {
        "source": "shop",
        "message_id": -1,
        "channel": channel,
        "attempt": 1,
        "outcome": "completed",
        "dequeue_at": due,
        "created_at": at(created),
        "dequeued_at": at(dequeued),
        "finished_at": at(finished),
        "size": 100,
        "error": None,
    }
    return {**row, **other}


def history(spark: SparkSession, *rows: dict[str, Any]) -> DataFrame:
    """Rows; those without an id of their own get one."""
    numbered = [
        {**row, "message_id": number} if row["message_id"] == -1 else row
        for number, row in enumerate(rows, 1000)
    ]
    return spark.createDataFrame(numbered, HISTORY)


def channels(spark: SparkSession, *rows: dict[str, Any]) -> DataFrame:
    """Settings; the channel '' is the queue's defaults."""
    usual = {"source": "shop", "channel": "", "taken_at": at(0), "max_concurrency": None}
    usual |= {"min_interval_ms": None, "burst": 1, "max_size": None, "when_full": "reject"}
    usual |= {"weight": 1, "max_attempts": 5, "paused": False}
    return spark.createDataFrame([{**usual, **row} for row in rows], CHANNELS)


def found(frame: DataFrame, *columns: str) -> list[tuple[Any, ...]]:
    """The rows of a frame in order of these columns; moments as seconds after midnight."""
    rows = [tuple(seconds(each) for each in row) for row in frame.select(*columns).collect()]
    return sorted(rows, key=lambda row: tuple((each is None, each) for each in row))


def by_source(frame: DataFrame) -> dict[str, list[dict[str, Any]]]:
    """The rows of a frame, each case under its source, in the order of channel and time: one query for many cases."""
    cases: dict[str, list[dict[str, Any]]] = {}
    keys = [each for each in ("channel", "begins_at", "horizon_days") if each in frame.columns]
    for row in frame.orderBy(*keys).collect():
        cases.setdefault(row["source"], []).append(row.asDict())
    return cases


def picked(rows: list[dict[str, Any]], *columns: str) -> list[tuple[Any, ...]]:
    """Some columns of rows; moments as seconds after midnight."""
    return [tuple(seconds(row[each]) for each in columns) for row in rows]


def seconds(value: Any) -> Any:
    if isinstance(value, datetime):
        return (value.astimezone(UTC) - MIDNIGHT).total_seconds()
    return value
