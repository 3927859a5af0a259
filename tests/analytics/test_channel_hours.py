"""The figures of a channel and an hour, beside answers worked out by hand. Each case is a source: one query for all."""

from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from analytics.history_rows import HOUR, at, attempt, by_source, channels, found, history, picked
from lonnymq.analytics import (
    compute_attempts,
    compute_channel_hours,
    compute_flow,
    compute_outcomes,
)
from lonnymq.analytics.columns import CHANNEL_HOURS, FLOW, OUTCOMES_HOURLY
from lonnymq.analytics.period import analyze_history

OUTCOMES = [
    "completed",
    "completed",
    "deferred",
    "failed",
    "expired",
    "dead",
    "failed",
    "completed",
]
CASES = {
    "arrivals": [
        attempt("a", 100, 200, 300),
        attempt("a", 100, HOUR + 10, HOUR + 20),
        attempt("a", 100, 110, 120, message_id=7, outcome="failed"),
        attempt("a", 100, 2 * HOUR, 2 * HOUR + 1, message_id=7, attempt=2, due=2 * HOUR - 60),
        attempt("b", 5, 6, 7),
    ],
    "standing": [
        attempt("a", 1800, 3 * HOUR + 900, 3 * HOUR + 1800),  # waits for 2 h 45 min
        attempt("a", 1800, 1800, 2 * HOUR),  # runs for 1 h 30 min
    ],
    "edges": [
        attempt("a", -2 * HOUR, 5 * HOUR, 6 * HOUR),
        attempt("a", -HOUR, -HOUR, 2 * HOUR),
    ],
    "percentiles": [attempt("a", 0, n, n + 2 * n, size=n) for n in range(1, 101)],
    "outcomes": [
        attempt("a", 0, 1, 2, outcome=each, attempt=number)
        for number, each in enumerate(OUTCOMES, 1)
    ],
    "limits": [
        *(attempt("a", HOUR * n, HOUR * n, HOUR * n + 1800) for n in (0, 1, 2, 2)),
        attempt("b", 0, 0, 1800),
    ],
    "unknown": [attempt("c", 0, 0, 1800)],
}
SETTINGS = [
    {"channel": "a", "taken_at": at(60), "max_concurrency": 1, "weight": 3},
    {
        "channel": "a",
        "taken_at": at(HOUR + 60),
        "max_concurrency": 2,
        "min_interval_ms": 1_800_000,
    },
    {"channel": "", "max_concurrency": 5, "taken_at": at(-99)},
]


@pytest.fixture(scope="module")
def given(spark: SparkSession) -> dict[str, list[dict[str, Any]]]:
    rows = [{**row, "source": case} for case, own in CASES.items() for row in own]
    known = channels(spark, *({**each, "source": "limits"} for each in SETTINGS))
    return by_source(
        analyze_history(history(spark, *rows), known, begin=at(0), end=at(4 * HOUR)).channel_hours
    )


def test_arrivals_are_counted_where_they_came_and_ends_where_they_ended(given):
    columns = ("channel", "begins_at", "arrivals", "due", "begun", "ended")
    assert picked(given["arrivals"], *columns) == [
        ("a", 0, 3, 3, 2, 2),
        ("a", HOUR, 0, 1, 1, 1),
        ("a", 2 * HOUR, 0, 0, 1, 1),
        ("b", 0, 1, 1, 1, 1),
    ]


def test_the_backlog_stands_in_hours_in_which_nothing_happened(given):
    columns = ("begins_at", "waiting_before", "waiting_after", "waiting_mean", "running_mean")
    assert picked(given["standing"], *columns) == [
        (0, 0, 1, 0.5, 0.5),
        (HOUR, 1, 1, 1.0, 1.0),
        (2 * HOUR, 1, 1, 1.0, 0.0),
        (3 * HOUR, 1, 0, 0.25, 0.25),
    ]


def test_what_waited_and_ran_before_the_period_and_after_it_is_counted(given):
    columns = ("begins_at", "waiting_before", "waiting_mean", "running_mean", "arrivals")
    assert picked(given["edges"], *columns) == [
        (0, 1, 1.0, 1.0, 0),
        (HOUR, 1, 1.0, 1.0, 0),
        (2 * HOUR, 1, 1.0, 0.0, 0),
        (3 * HOUR, 1, 1.0, 0.0, 0),
    ]


def test_percentiles_are_of_the_nearest_rank(given):
    parts = ("p50", "p95", "p99", "most", "mean")
    [waits] = picked(given["percentiles"], *(f"wait_{part}" for part in parts))
    assert waits == (50_000, 95_000, 99_000, 100_000, 50_500)
    [services] = picked(given["percentiles"], *(f"service_{part}" for part in parts))
    assert services == (100_000, 190_000, 198_000, 200_000, 101_000)
    sizes = ("size", "size_p50", "size_p95", "size_most")
    assert picked(given["percentiles"], *sizes) == [(5050, 50, 95, 100)]


def test_outcomes_are_counted_and_are_rates_of_what_ended(given):
    counts = ("completed", "deferred", "failed", "expired", "dead", "retries")
    assert picked(given["outcomes"], *counts) == [(3, 1, 2, 1, 1, 7)]
    # completed at the 1st, 2nd and 8th attempt, dead at the 6th
    rates = ("defer_rate", "fail_rate", "expire_rate", "dead_rate", "tries_mean")
    assert picked(given["outcomes"], *rates) == [(1 / 8, 2 / 8, 1 / 8, 1 / 8, 17 / 4)]


def test_limits_in_use_are_those_in_force_at_the_time(given):
    columns = ("channel", "begins_at", "max_concurrency", "weight", "concurrency_used", "rate_used")
    assert picked(given["limits"], *columns) == [
        ("a", 0, 1, 3, 0.5, None),  # the first that is known holds for the time before as well
        ("a", HOUR, 1, 3, 0.5, None),
        ("a", 2 * HOUR, 2, 1, 0.5, 1.0),
        ("b", 0, 5, 1, 0.1, None),
    ]
    assert picked(given["unknown"], *columns) == [("c", 0, None, None, None, None)]


def test_figures_have_the_columns_that_they_declare(spark: SparkSession):
    rows = compute_attempts(history(spark, attempt("a", 0, 1, 2)))
    known = channels(spark, {})
    for frame, declared in (
        (compute_flow(rows), FLOW),
        (compute_outcomes(rows), OUTCOMES_HOURLY),
        (
            compute_channel_hours(
                compute_flow(rows), compute_outcomes(rows), known, begin=at(0), end=at(HOUR)
            ),
            CHANNEL_HOURS,
        ),
    ):
        schema = StructType.fromDDL(declared)
        assert isinstance(schema, StructType)
        assert [(each.name, each.dataType) for each in frame.schema] == [
            (each.name, each.dataType) for each in schema
        ]


@pytest.mark.long
def test_buckets_may_be_shorter(spark: SparkSession):
    rows = history(spark, attempt("a", 0.5, 2.5, 3.5))
    period = analyze_history(rows, begin=at(0), end=at(60), every_ms=1_000)
    assert found(period.channel_hours, "begins_at", "due", "waiting_mean", "running_mean") == [
        (0, 1, 0.5, 0.0),
        (1, 0, 1.0, 0.0),
        (2, 0, 0.5, 0.5),
        (3, 0, 0.0, 0.5),
    ]
