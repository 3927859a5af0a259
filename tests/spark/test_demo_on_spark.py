"""The demo's last act, in the session of the tests."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from rich.console import Console

from lonnymq.demo.on_spark import act_on_spark


@pytest.mark.timeout(900)
def test_the_demo_on_spark_keeps_its_promises(spark: SparkSession, dsn_18: str) -> None:
    told = act_on_spark(Console(quiet=True), dsn_18)
    assert [each.words for each in told] == [
        "Spark wrote 5,000 rows, 5,000 messages are there",
        "a stream read 5,000 into a table, 5,000 different ones, 0 are left",
    ]
    assert all(each.kept for each in told)
