"""What a wait is: of first attempts, retries, defers, ranks, leases that ran out, and redriven messages."""

from typing import Any

import pytest
from pyspark.sql import SparkSession

from analytics.history_rows import MIDNIGHT, attempt, found, history, ms
from lonnymq.analytics import compute_attempts


def waits(spark: SparkSession, *rows: dict[str, Any]) -> list[tuple[Any, ...]]:
    return found(compute_attempts(history(spark, *rows)), "dequeued_at", "wait_ms", "service_ms")


def test_an_attempt_waits_from_when_it_was_created_or_due_until_it_is_dequeued(spark: SparkSession):
    assert waits(
        spark,
        attempt("a", 10, 12, 15),
        attempt("a", 10, 32, 32.5, due=30),  # scheduled for 30
        attempt("a", 10, 42, 43, dequeue_at=-5),  # urgent: its rank is no moment
        attempt("a", 60, 62, 61),  # the clock was set back
    ) == [
        (ms(12), 2_000, 3_000),
        (ms(32), 2_000, 500),
        (ms(42), 32_000, 1_000),
        (ms(62), 2_000, 0),
    ]


@pytest.mark.long
def test_the_delay_of_a_retry_and_of_a_defer_is_no_wait(spark: SparkSession):
    assert waits(
        spark,
        attempt("a", 0, 1, 2, message_id=7, outcome="failed"),
        attempt("a", 0, 13, 14, message_id=7, due=12, attempt=2, outcome="deferred"),
        attempt("a", 0, 61, 62, message_id=7, due=60, attempt=2),
    ) == [(ms(1), 1_000, 1_000), (ms(13), 1_000, 1_000), (ms(61), 1_000, 1_000)]


def test_after_a_lease_that_ran_out_the_wait_begins_with_its_end(spark: SparkSession):
    assert waits(
        spark,
        attempt("a", 0, 1, 31, message_id=7, outcome="expired"),
        attempt("a", 0, 35, 36, message_id=7, attempt=2),
        attempt("b", 0, 1, 31, message_id=8, outcome="deferred"),
        attempt("b", 0, 33, 36, message_id=8, dequeue_at=-1),  # deferred to the front of its line
    ) == [
        (ms(1), 1_000, 30_000),
        (ms(1), 1_000, 30_000),
        (ms(33), 2_000, 3_000),
        (ms(35), 4_000, 1_000),
    ]


@pytest.mark.long
def test_the_attempt_before_may_have_ended_the_day_before(spark: SparkSession):
    earlier = history(spark, attempt("a", -100, -90, -60, message_id=7, outcome="expired"))
    today = history(spark, attempt("a", -100, 5, 6, message_id=7, attempt=2))
    assert found(compute_attempts(today, earlier=earlier), "wait_ms") == [(65_000,)]
    assert found(compute_attempts(today, earlier=earlier, are_few=True), "wait_ms") == [(65_000,)]
    assert found(compute_attempts(today), "wait_ms") == [(105_000,)]


@pytest.mark.long
def test_the_wait_of_a_redriven_message_is_unknown(spark: SparkSession):
    assert waits(
        spark,
        attempt("a", 0, 1, 2, message_id=7, outcome="dead", attempt=5),
        attempt("a", 0, 500, 501, message_id=7),
    ) == [(ms(1), 1_000, 1_000), (ms(500), None, 1_000)]


@pytest.mark.long
def test_a_message_of_another_source_with_the_same_id_is_another(spark: SparkSession):
    assert waits(
        spark,
        attempt("a", 0, 1, 31, message_id=7, outcome="expired"),
        attempt("a", 0, 35, 36, message_id=7, source="other"),
    ) == [(ms(1), 1_000, 30_000), (ms(35), 35_000, 1_000)]


@pytest.mark.long
def test_history_as_the_queue_gives_it_gets_its_day_whatever_the_zone(spark: SparkSession):
    zone = spark.conf.get("spark.sql.session.timeZone") or "UTC"
    spark.conf.set("spark.sql.session.timeZone", "Pacific/Auckland")
    try:
        rows = compute_attempts(history(spark, attempt("a", 0, 1, 2)).drop("source"))
        assert found(rows, "source", "date", "dequeued_at") == [("", MIDNIGHT.date(), ms(1))]
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)
