"""Jain's index and the split into noisy and quiet, by hand. Each case is a source: one query for all."""

from typing import Any

import pytest
from pyspark.sql import SparkSession

from analytics.history_rows import HOUR, at, by_source, picked
from lonnymq.analytics import compute_fairness, compute_noisy_hours, compute_noisy_neighbours

HOURS = """
  source string, channel string, begins_at timestamp, waiting_before long, waiting_after long, due long, begun long,
  weight int, paused boolean, concurrency_used double, rate_used double, wait_p95 long
"""


def hour(channel: str, begun: int, **other: Any) -> dict[str, Any]:
    """An hour at both ends of which something waited."""
    usual = {
        "channel": channel,
        "begins_at": at(0),
        "begun": begun,
        "waiting_before": 9,
        "waiting_after": 9,
        "due": begun,
    }
    unset = dict.fromkeys(("weight", "paused", "concurrency_used", "rate_used", "wait_p95"))
    return {**unset, **usual, **other}


def worked(channel: str, work: int, wait: int | None = None, *, at_hour: int = 0) -> dict[str, Any]:
    """An hour in which so much was to do."""
    return hour(
        channel, work, waiting_before=0, due=work, wait_p95=wait, begins_at=at(at_hour * HOUR)
    )


CASES = {
    "alike": [hour("a", 4), hour("b", 4)],
    "uneven": [hour("a", 6), hour("b", 2)],
    "weighted": [hour("a", 6, weight=3), hour("b", 2, weight=1)],
    "held": [
        hour("a", 4),
        hour("b", 4),
        hour("slow", 1, rate_used=0.9),
        hour("full", 1, concurrency_used=1.0),
        hour("paused", 0, paused=True),
        hour("idle", 1, waiting_before=0),
        hour("done", 1, waiting_after=0),
    ],
    "alone": [hour("a", 3)],
    "stuck": [hour("a", 0), hour("b", 0)],
}
NOISE = {
    "flood": [
        *(
            worked("flood", 33, 62_000),
            worked("a", 1, 1_000),
            worked("b", 1, 2_000),
            worked("c", 1, 9_000),
        ),
        *(worked("a", 1, 1_000, at_hour=1), worked("b", 1, 1_500, at_hour=1)),
    ],
    "ten times": [worked("a", 1, 10), worked("b", 10, 10)],
    "many small": [worked("large", 11, 10), *(worked(f"{n}", 1, 10) for n in range(219))],
}


def cases(spark: SparkSession, given: dict[str, list[dict[str, Any]]]):
    rows = [{**row, "source": case} for case, own in given.items() for row in own]
    return spark.createDataFrame(rows, HOURS)


@pytest.fixture(scope="module")
def given(spark: SparkSession) -> dict[str, list[dict[str, Any]]]:
    return by_source(compute_fairness(cases(spark, CASES)))


def test_jains_index_is_one_if_all_are_served_alike_and_less_if_not(given):
    columns = ("backlogged", "held", "competing", "jain", "least", "most")
    assert picked(given["alike"], *columns) == [(2, 0, 2, 1.0, 4, 4)]
    # 8 * 8 / (2 * (36 + 4))
    assert picked(given["uneven"], *columns) == [(2, 0, 2, pytest.approx(0.8), 2, 6)]
    assert picked(given["stuck"], *columns) == [(2, 0, 2, 1.0, 0, 0)]


def test_a_weight_is_a_larger_share(given):
    assert picked(given["weighted"], "jain") == [(1.0,)]


def test_who_had_no_backlog_or_was_held_by_its_own_limit_is_not_compared(given):
    assert picked(given["held"], "backlogged", "held", "competing", "jain") == [(5, 3, 2, 1.0)]


def test_one_alone_has_no_index(given):
    assert picked(given["alone"], "backlogged", "competing", "jain") == [(1, 1, None)]


@pytest.mark.long
def test_a_flood_is_noisy_and_the_others_are_quiet(spark: SparkSession):
    hours = cases(spark, NOISE)
    given = by_source(compute_noisy_hours(hours))
    columns = (
        "begins_at",
        "channels",
        "noisy",
        "noisy_work",
        "quiet_work",
        "noisy_wait_p95",
        "quiet_wait_p95",
    )
    assert picked(given["flood"], *columns) == [
        (0, 4, 1, 33, 3, 62_000, 2_000),
        (HOUR, 2, 0, 0, 2, None, 1_000),
    ]
    # ten times as much is not more than ten times; and less than a twentieth of all is not noisy
    assert picked(given["ten times"], "noisy") == [(0,)]
    assert picked(given["many small"], "noisy") == [(0,)]
    results = by_source(compute_noisy_neighbours(hours))
    assert list(results) == ["flood"]
    wanted = ("channel", "hours", "share", "quiet_wait_p95", "otherwise_wait_p95")
    assert picked(results["flood"], *wanted) == [("flood", 1, 33 / 36, 2_000, 1_000)]
