"""The forecast by hand: a straight line, tried on the past. Each case is a source: one query for all."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import SparkSession

from analytics.history_rows import MIDNIGHT, by_source, picked
from lonnymq.analytics import compute_forecast
from lonnymq.analytics.forecast import MIN_DAYS

HOURS = """
  source string, begins_at timestamp, due long, ended long, waiting_before long, waiting_after long,
  paused boolean, concurrency_used double, rate_used double
"""
COLUMNS = ("days", "due_a_day", "growth_a_day", "expected", "error", "tried")
CASES: dict[str, list[int | None]] = {
    "grows": [100 + 10 * day for day in range(20)],
    "jumps": [*([100] * 10), 200],
    "fills": [1_000 * day for day in range(1, 11)],
    "even": [100] * 10,
    "gap": [100, None, 100, 100, 100],
    "few": [100] * (MIN_DAYS - 1),
}


def hour(day: int) -> datetime:
    return MIDNIGHT + timedelta(days=day, hours=10)


def hours_of(spark: SparkSession, given: Mapping[str, Sequence[int | None]]):
    """One busy hour a day, which does so much; with a backlog in the case `fills`."""
    rows = [
        (source, hour(day), many, many, *([int(source == "fills")] * 2), False, None, None)
        for source, due in given.items()
        for day, many in enumerate(due)
        if many is not None
    ]
    return spark.createDataFrame(rows, HOURS)


@pytest.fixture(scope="module")
def given(spark: SparkSession) -> dict[str, list[dict[str, Any]]]:
    return by_source(compute_forecast(hours_of(spark, CASES)))


def test_even_growth_is_foretold_without_error(given):
    days, due, growth, expected, error, tried = picked(given["grows"], *COLUMNS)[1]
    assert (days, tried) == (20, 9)  # the first of which is known by five days, a week before
    assert [due, growth, expected] == pytest.approx([290, 10, 360])
    assert error == pytest.approx(0, abs=1e-9)


def test_the_error_is_that_of_the_past(given):
    days, _, _, _, error, tried = picked(given["jumps"], *COLUMNS)[0]
    assert (days, tried) == (11, 6)
    assert error == pytest.approx(0.5 / 6)  # the last day was foretold at 100: off by a half


def test_it_is_full_when_the_line_meets_what_the_busiest_hours_did(given):
    # The busiest hour did 10,000, which makes 240,000 a day; from 10,000 it grows by 1,000 a day: 230 days.
    columns = ("capacity_a_day", "is_capacity_seen", "last_day", "full_on")
    assert picked(given["fills"], *columns)[0] == (
        240_000,
        True,
        date(2030, 1, 19),
        date(2030, 9, 6),
    )


def test_without_a_backlog_the_capacity_is_a_lower_bound(given):
    columns = ("capacity_a_day", "is_capacity_seen", "full_on")
    assert picked(given["even"], *columns)[0] == (2400, False, None)


def test_days_without_work_are_days(given):
    assert picked(given["gap"], "days", "due_a_day")[0] == (5, pytest.approx(100))


def test_too_few_days_give_no_line(given):
    assert picked(given["few"], *COLUMNS)[0] == (4, None, None, None, None, 0)


@pytest.mark.long
def test_days_that_are_not_whole_are_left_out(spark: SparkSession):
    frame = hours_of(spark, {"cut": [100, 100, 100, 100, 100, 100, 7]})
    noon = MIDNIGHT + timedelta(hours=12)
    results = by_source(compute_forecast(frame, since=noon, until=noon + timedelta(days=6)))["cut"]
    assert picked(results, "days", "due_a_day", "last_day")[0] == (
        5,
        pytest.approx(100),
        date(2030, 1, 15),
    )
