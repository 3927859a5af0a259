"""The demo's last act, in the session of the tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from examples.demo.lake_report import run_report_step
from examples.demo.scenario import FLOODING, QUIET
from examples.demo.spark_queue import run_spark_step
from pyspark.sql import SparkSession
from rich.console import Console

from lonnymq import Queue

pytestmark = [pytest.mark.timeout(900), pytest.mark.long]  # a Spark on a machine that may be busy


def test_the_demo_on_spark_keeps_its_promises(spark: SparkSession, dsn_18: str) -> None:
    results = run_spark_step(Console(quiet=True), dsn_18)
    assert [each.words for each in results] == [
        "Spark wrote 5,000 rows, 5,000 messages are there",
        "a stream read 5,000 into a table, 5,000 different ones, 0 are left",
    ]
    assert all(each.kept for each in results)


@pytest.fixture
def history(dsn_18: str) -> int:
    """Some attempts of every tenant of the show; how many."""
    with Queue(dsn_18) as queue:
        for tenant in (FLOODING, *QUIET):
            queue.create_many([b"x"] * 4, channel=tenant)
        while messages := queue.dequeue(limit=7):
            queue.complete_many(messages)
        return len(queue.history_read())


def test_the_demo_ends_with_a_report_of_its_history(
    spark: SparkSession, dsn_18: str, history: int, tmp_path: Path
) -> None:
    file = tmp_path / "new folder" / "report.html"
    results = run_report_step(Console(quiet=True), dsn_18, history, file)
    assert [each.words for each in results] == [
        "Spark brought 20 attempts into a lake, the history has 20",
        "the report tells of 5 of 5 tenants",
    ]
    assert all(each.kept for each in results)
    assert file.read_text().lower().startswith("<!doctype html>")
