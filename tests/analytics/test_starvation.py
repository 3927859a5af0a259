"""Starvation windows by hand: a backlog, and nothing begun."""

from datetime import timedelta

import pytest
from pyspark.sql import SparkSession

from analytics.history_rows import MIDNIGHT, attempt, channels, found, history
from lonnymq.analytics import compute_attempts, compute_starvation
from lonnymq.analytics.fairness import join_limits

COLUMNS = ("channel", "begins_at", "ends_at", "length_ms", "others")
DAY = 86_400


def test_a_window_lasts_from_one_dequeue_to_the_next_while_something_waits(spark: SparkSession):
    rows = [
        attempt("a", 0, 5, 6),
        attempt("a", 0, 65, 66),  # waited all the time: starved from 5 to 65
        attempt("a", 100, 130, 131),  # nothing waited before 100: starved from 100
        attempt("a", 200, 205, 206),  # five seconds are short
        attempt("b", 20, 20.5, 21),
        attempt("b", 40, 40.5, 41),
        attempt("b", 110, 110.5, 111),
    ]
    assert found(compute_starvation(compute_attempts(history(spark, *rows))), *COLUMNS) == [
        ("a", 5, 65, 60_000, 2),
        ("a", 100, 130, 30_000, 1),
    ]


@pytest.mark.long
def test_another_message_that_waits_longer_decides_when_a_window_begins(spark: SparkSession):
    rows = [
        attempt("a", 0, 1, 2),
        attempt("a", 70, 80, 81),  # urgent, served first
        attempt("a", 30, 95, 96),
    ]
    assert found(compute_starvation(compute_attempts(history(spark, *rows))), *COLUMNS) == [
        ("a", 30, 80, 50_000, 0),
        ("a", 80, 95, 15_000, 0),
    ]


@pytest.mark.long
def test_the_dequeue_before_may_be_of_the_day_before(spark: SparkSession):
    rows = [
        attempt("a", -100, -40, -30),
        attempt("a", -100, 20, 21),
        attempt("b", -DAY * 3, 50, 51),
    ]
    frame = compute_starvation(compute_attempts(history(spark, *rows)))
    assert found(frame, "date", *COLUMNS) == [
        (MIDNIGHT.date() - timedelta(days=1), "a", -100, -40, 60_000, 0),
        (MIDNIGHT.date(), "a", -40, 20, 60_000, 0),
        (MIDNIGHT.date(), "b", -DAY * 3, 50, DAY * 3_000 + 50_000, 2),
    ]


def test_a_window_that_a_limit_of_its_own_explains_is_held(spark: SparkSession):
    rows = [
        attempt("busy", 0, 5, 70),  # runs all the time, in its only slot
        attempt("busy", 0, 70, 71),
        attempt("free", 0, 5, 70),
        attempt("free", 0, 70, 71),
        attempt("slow", 0, 5, 6),
        attempt("slow", 0, 65, 66),
        attempt("paused", 0, 60, 61),
        attempt("unknown", 0, 60, 61),
    ]
    known = channels(
        spark,
        {"channel": "busy", "max_concurrency": 1},
        {"channel": "free", "max_concurrency": 2},
        {"channel": "slow", "min_interval_ms": 60_000},
        {"channel": "paused", "paused": True},
    )
    frame = join_limits(compute_starvation(compute_attempts(history(spark, *rows))), known)
    assert found(frame, "channel", "running", "is_held") == [
        ("busy", 1, True),
        ("free", 1, False),
        ("paused", 0, True),
        ("slow", 0, True),
        ("unknown", 0, False),
    ]


@pytest.mark.long
def test_the_longest_of_a_day_are_kept_and_all_are_counted(spark: SparkSession):
    rows = [attempt("a", 0, n * (n + 20), n * (n + 20) + 1) for n in range(6)]
    frame = compute_starvation(compute_attempts(history(spark, *rows)), most=2)
    assert found(frame, "ends_at", "length_ms", "windows") == [(96, 27_000, 5), (125, 29_000, 5)]
