"""Figures in a lake: what has grown is computed again, and nothing else."""

import shutil
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyspark.sql import SparkSession

from analytics.history_rows import HOUR, at, attempt, found, history
from lonnymq.analytics import analyze_history, analyze_lake, refresh_analytics
from lonnymq.analytics.refresh import group_days
from lonnymq.lake import LakeMissing, NotALake, write_history

DAY = 24 * HOUR
FIRST = date(2030, 1, 10)
HOSTILE = "o'brien; </script> 🦊"


def put(spark: SparkSession, lake: Path, *rows: dict[str, Any], source: str = "shop") -> None:
    write_history(history(spark, *rows).drop("source"), lake, source=source)


def days_of(done: list[Any]) -> list[tuple[str, list[int], int]]:
    return [(each.source, [(day - FIRST).days for day in each.days], each.rows) for each in done]


@pytest.mark.long
def test_only_days_that_have_grown_are_computed_again(spark: SparkSession, tmp_path: Path):
    rows = [
        attempt("a", 10, 40, 50, outcome="failed", error="no 1"),
        attempt(HOSTILE, DAY - 60, DAY - 50, DAY - 10, outcome="expired", message_id=7),
        attempt(HOSTILE, DAY - 60, DAY + 180, DAY + 200, attempt=2, message_id=7),
    ]
    put(spark, tmp_path, *rows)
    put(spark, tmp_path, attempt("a", 0, 1, 2), source=HOSTILE)
    heard: list[Any] = []
    refresh_analytics(spark, tmp_path, on_progress=heard.append)
    assert days_of(heard) == [(HOSTILE, [0], 1), ("shop", [0, 1], 3)]
    assert refresh_analytics(spark, tmp_path) == []
    late = attempt("late", 20, 21, DAY + 300)
    put(spark, tmp_path, late)
    assert days_of(refresh_analytics(spark, tmp_path)) == [("shop", [1], 2)]
    assert_kept(spark, tmp_path, *rows, late)


def assert_kept(spark: SparkSession, lake: Path, *rows: dict[str, Any]) -> None:
    """What is kept of two days is what the rows give when they are all there at once."""
    begin, end = at(0), at(2 * DAY)
    kept = analyze_lake(spark, lake, begin=begin, end=end, source="shop")
    straight = analyze_history(history(spark, *rows), begin=begin, end=end)
    for name in ("histograms", "starvation", "errors"):
        columns = [each for each in kept.aggregates[name].columns if each != "date"]
        both = (found(each.aggregates[name], *columns) for each in (kept, straight))
        assert next(both) == next(both), name
    assert found(kept.channel_hours, *kept.channel_hours.columns) == found(
        straight.channel_hours, *kept.channel_hours.columns
    )


@pytest.mark.long
@pytest.mark.parametrize(("is_first_known", "rows_at_once"), [(False, 100), (False, 1), (True, 1)])
def test_windows_over_midnight_are_the_same_however_days_are_computed(
    spark: SparkSession, tmp_path: Path, *, is_first_known: bool, rows_at_once: int
):
    rows = [
        attempt("a", DAY - 100, DAY - 90, DAY + 70),  # runs over midnight
        attempt("a", DAY - 95, DAY + 60, DAY + 61),  # starved since the dequeue before, of that day
        attempt("b", DAY - 300, DAY - 20, DAY + 5),  # the first day's window ends with it
        attempt("b", DAY + 10, DAY + 40, DAY + 41),
    ]
    first = attempt("b", 0, 30, 31)
    put(spark, tmp_path, first)
    if is_first_known:  # without what was begun on it and ended on the second day
        refresh_analytics(spark, tmp_path)
    put(spark, tmp_path, *rows)
    refresh_analytics(spark, tmp_path, rows_at_once=rows_at_once)
    assert_kept(spark, tmp_path, first, *rows)


@pytest.mark.long
def test_nothing_stays_with_spark_when_a_refresh_is_done_or_has_failed(
    spark: SparkSession, tmp_path: Path
):
    put(spark, tmp_path, attempt("a", 10, 40, 50))
    table = pa.table({"not": ["ours"]})
    write_deltalake(str(tmp_path / "analytics" / "outcomes"), table)
    with pytest.raises(NotALake):
        refresh_analytics(spark, tmp_path)
    assert kept_by(spark) == 0
    shutil.rmtree(tmp_path / "analytics" / "outcomes")
    assert days_of(refresh_analytics(spark, tmp_path)) == [("shop", [0], 1)]
    assert kept_by(spark) == 0


@pytest.mark.long
def test_a_day_that_has_not_grown_is_not_computed_again(spark: SparkSession, tmp_path: Path):
    put(spark, tmp_path, attempt("a", 10, 40, 50))
    assert days_of(refresh_analytics(spark, tmp_path)) == [("shop", [0], 1)]
    assert refresh_analytics(spark, tmp_path) == []


def kept_by(spark: SparkSession) -> int:
    """How many frames Spark keeps."""
    return spark.sparkContext._jsc.getPersistentRDDs().size()


def test_days_are_computed_together_while_they_follow_each_other_and_are_not_too_large():
    days = [FIRST + timedelta(days=day) for day in (0, 1, 2, 3, 5)]
    rows = dict(zip(days, (10, 10, 10, 50, 1), strict=True))
    results = [[(day - FIRST).days for day in each] for each in group_days(days, rows, 20)]
    assert results == [[0, 1], [2], [3], [5]]


def test_a_lake_that_is_not_there_is_refused(spark: SparkSession, tmp_path: Path):
    with pytest.raises(LakeMissing, match="lonnymq lake sync"):
        refresh_analytics(spark, tmp_path / "none")
