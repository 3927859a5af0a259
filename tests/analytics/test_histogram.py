"""Percentiles over days and tenants, put together from spreads."""

import pytest
from pyspark.sql import SparkSession

from analytics.history_rows import HOUR, at, attempt, found, history
from lonnymq.analytics import compute_attempts, compute_histograms, compute_hourly_histograms
from lonnymq.analytics.aggregates import merge_percentiles
from lonnymq.analytics.period import analyze_history


def test_spreads_add_up_to_percentiles_of_the_whole(spark: SparkSession):
    short = [attempt("a", 0, 0.001 * n, 0.001 * n) for n in range(1, 11)]
    long = [attempt("a", 86_400, 86_400 + 10 * n, 86_400 + 10 * n) for n in range(1, 11)]
    kept = compute_histograms(compute_attempts(history(spark, *short, *long)))
    assert kept.count() == 2  # one a day
    [given] = found(
        merge_percentiles(kept, "channel"), "wait_attempts", "wait_p50", "wait_p95", "wait_p99"
    )
    assert given[:2] == (20, 10)  # values below 256 ms are exact
    assert given[2:] == (pytest.approx(90_000, rel=0.013), pytest.approx(100_000, rel=0.013))


@pytest.mark.long
def test_steps_are_fine_enough(spark: SparkSession):
    waits = [64, 255, 256, 257, 999, 1_000, 12_345, 3_600_000, 123_456_789]
    rows = history(spark, *(attempt(f"{wait}", 0, wait / 1000, wait / 1000) for wait in waits))
    given = found(
        merge_percentiles(compute_histograms(compute_attempts(rows)), "channel"),
        "channel",
        "wait_p50",
    )
    assert len(given) == len(waits)
    for channel, value in given:
        assert value == pytest.approx(int(channel), rel=0.013), channel


@pytest.mark.long
def test_the_pulse_has_all_channels_together(spark: SparkSession):
    rows = [
        attempt("a", 0, 0.010, 0.020),
        attempt("b", 0, 0.030, 0.031),
        attempt("b", HOUR, HOUR, HOUR),
    ]
    frame = merge_percentiles(
        compute_hourly_histograms(compute_attempts(history(spark, *rows))), "begins_at"
    )
    assert found(frame, "begins_at", "wait_p50", "wait_p99", "service_p99") == [
        (0, 10, 30, 10),
        (HOUR, 0, 0, 0),
    ]


@pytest.mark.long
def test_a_tenant_is_summed_up_over_the_period(spark: SparkSession):
    rows = [
        attempt("a", 0, 0.010, 0.030),
        attempt("a", HOUR, HOUR + 0.020, HOUR + 0.060, outcome="failed"),
        attempt("b", 0, 2 * HOUR, 2 * HOUR),
    ]
    frames = analyze_history(history(spark, *rows), begin=at(0), end=at(3 * HOUR)).frames
    columns = (
        "channel",
        "attempts",
        "completed",
        "failed",
        "wait_p50",
        "wait_p99",
        "service_p50",
        "waiting_most",
    )
    assert found(frames["tenants"], *columns) == [
        ("a", 2, 1, 1, 10, 20, 20, 0),
        (
            "b",
            1,
            1,
            0,
            pytest.approx(2 * HOUR * 1000, rel=0.013),
            pytest.approx(2 * HOUR * 1000, rel=0.013),
            0,
            1,
        ),
    ]
    assert found(frames["backlog"], "begins_at", "due", "waiting_after", "channels_waiting") == [
        (0, 2, 1, 1),
        (HOUR, 1, 1, 1),
        (2 * HOUR, 0, 0, 0),
    ]
