"""Errors that say the same are counted together."""

from typing import Any

import pytest
from pyspark.sql import SparkSession

from analytics.history_rows import attempt, found, history
from lonnymq.analytics import compute_attempts, compute_error_groups

TRACE = 'Traceback (most recent call last):\n  File "x.py", line 3\nKeyError: 17\n'


def failing(error: str | None, *, outcome: str = "failed", channel: str = "a") -> dict[str, Any]:
    return attempt(channel, 0, 1, 2, outcome=outcome, error=error)


def text(spark: SparkSession, *texts: str | None) -> list[tuple[Any, ...]]:
    frame = compute_error_groups(compute_attempts(history(spark, *map(failing, texts))))
    return found(frame, "error", "attempts")


def test_numbers_and_ids_do_not_tell_errors_apart(spark: SparkSession):
    texts = [
        "timeout after 30.5 s", "timeout after 7 s",
        "no order 1b4e28ba-2fa1-11d2-883f-0016d3cca427", "no order 2b4e28ba-2fa1-11d2-883f-0016d3cca427",
        "<Job object at 0x7f01>", "<Job object at 0x7f02>",
        "no bucket img_2024_x7f", "no bucket img_2025_x9a",
        "unknown anna@shop.example", "unknown bob@shop.example",
        TRACE, "KeyError: 4",
        "", "\n \n",
    ]  # fmt: skip
    assert text(spark, *texts) == [
        ("(no error was given)", 2),
        ("<Job object at <address>>", 2),
        ("KeyError: #", 2),
        ("no bucket <id>", 2),
        ("no order <id>", 2),
        ("timeout after # s", 2),
        ("unknown <mail>", 2),
    ]


def test_an_error_is_told_by_channel_with_a_sample_and_its_deaths(spark: SparkSession):
    rows = [failing("no 7"), failing("no 8", outcome="dead"), failing("no 9", channel="b")]
    rows += [failing(None, outcome="expired"), failing(None), failing("fine", outcome="completed")]
    frame = compute_error_groups(compute_attempts(history(spark, *rows)))
    columns = ("channel", "error", "attempts", "dead", "first_at", "sample")
    assert found(frame, *columns) == [
        ("a", "(no error was given)", 1, 0, 2, "(no error was given)"),
        ("a", "(the lease ran out)", 1, 0, 2, "(the lease ran out)"),
        ("a", "no #", 2, 1, 2, "no 7"),
        ("b", "no #", 1, 0, 2, "no 9"),
    ]


@pytest.mark.long
def test_rare_errors_of_a_day_are_added_up(spark: SparkSession):
    rows = [failing("often"), failing("often"), failing("rare"), failing("rarer", channel="b")]
    frame = compute_error_groups(compute_attempts(history(spark, *rows)), most=1)
    assert found(frame, "channel", "error", "attempts") == [
        ("a", "often", 2),
        (None, "(other errors)", 2),
    ]
