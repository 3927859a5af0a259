"""From the engine through a lake to what-if: recorded by one, brought by Spark, replayed at the recorded settings."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from commands import run
from database.simulate.service import LIMITS, WORKERS, served
from lonnymq.lake import sync
from lonnymq.simulate import build_workload, read_lake_history

pytestmark = [pytest.mark.timeout(900), pytest.mark.long]  # a Spark on a machine that may be busy


def test_a_real_queue_is_replayed_from_its_lake_at_its_own_settings(
    spark: SparkSession, dsn_18: str, tmp_path: Path
) -> None:
    lake, queue = str(tmp_path / "lake"), served(dsn_18, most=2)
    sync(spark, lake, url=dsn_18, source="shop")
    read = read_lake_history(lake)
    assert read.history == build_workload(queue.history_read())
    assert {name: read.scenario.limits[name] for name in LIMITS} == LIMITS
    assert read.scenario.max_concurrency == 2
    asked = ["--set", "max_concurrency=none", "--recorded-workers", str(WORKERS)]
    ran = run("simulate", "--lake", lake, *asked, "--json")
    assert ran.code == 0, ran.err
    assert ran.json["calibration"]["error"] < 0.25
    nothing, freed = ran.json["scenarios"]
    assert freed["set"] == ["max_concurrency=none"]
    assert freed["all"]["mean"] < 0.8 * nothing["all"]["mean"]
