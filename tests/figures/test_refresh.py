"""Figures in a lake: what has grown is computed again, and nothing else."""

from datetime import date, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from figures.rows import HOUR, at, attempt, found, history
from lonnymq.figures import of_history, of_lake, refresh
from lonnymq.figures.refresh import stretches
from lonnymq.lake import LakeMissing, write_history

DAY = 24 * HOUR
FIRST = date(2030, 1, 10)
HOSTILE = "o'brien; </script> 🦊"


def put(spark: SparkSession, lake: Path, *rows: dict, source: str = "shop") -> None:
    write_history(history(spark, *rows).drop("source"), lake, source=source)


def days_of(done: list) -> list[tuple[str, list[int], int]]:
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
    heard: list = []
    refresh(spark, tmp_path, tell=heard.append)
    assert days_of(heard) == [(HOSTILE, [0], 1), ("shop", [0, 1], 3)]
    assert refresh(spark, tmp_path) == []
    late = attempt("late", 20, 21, DAY + 300)
    put(spark, tmp_path, late)
    assert days_of(refresh(spark, tmp_path)) == [("shop", [1], 2)]
    # What is kept is what the rows give when they are all there at once.
    begin, end = at(0), at(2 * DAY)
    kept = of_lake(spark, tmp_path, begin=begin, end=end, source="shop")
    straight = of_history(history(spark, *rows, late), begin=begin, end=end)
    for name in ("spreads", "starvation", "errors"):
        columns = [each for each in kept.kept[name].columns if each != "date"]
        both = (found(each.kept[name], *columns) for each in (kept, straight))
        assert next(both) == next(both), name
    assert found(kept.hours, *kept.hours.columns) == found(straight.hours, *kept.hours.columns)


def test_days_are_computed_together_while_they_follow_each_other_and_are_not_too_large():
    days = [FIRST + timedelta(days=day) for day in (0, 1, 2, 3, 5)]
    rows = dict(zip(days, (10, 10, 10, 50, 1), strict=True))
    told = [[(day - FIRST).days for day in each] for each in stretches(days, rows, 20)]
    assert told == [[0, 1], [2], [3], [5]]


def test_a_lake_that_is_not_there_is_refused(spark: SparkSession, tmp_path: Path):
    with pytest.raises(LakeMissing, match="lonnymq lake sync"):
        refresh(spark, tmp_path / "none")
