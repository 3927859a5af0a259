"""A sweep on a real cluster, whose Python does not have the library: the answers of a plain one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from spark.clusters import bare_python, cluster

ASKED = ["simulate", "--synthetic", "--messages", "3000", "--tenants", "20", "--noisy", "0.5"]
CONF = ["--conf", "spark.executor.memory=512m", "--conf", "spark.driver.host=127.0.0.1"]
TRIED = ["--workers", "4,8", "--growth", "1,1.5", "--set", "tenant-01.max_concurrency=1,2"]


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_sweep_on_a_cluster_gives_what_a_plain_one_gives(tmp_path: Path) -> None:
    python = bare_python(tmp_path / "bare")
    with cluster(tmp_path) as master:
        on_cluster = answers(master, PYSPARK_PYTHON=str(python))
    assert on_cluster == answers("never")
    assert len(on_cluster["scenarios"]) == 12


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_master_that_spark_does_not_know_is_refused_in_a_sentence() -> None:
    ran = command("local[")
    assert ran.returncode == 1
    output = "lonnymq: Spark does not start at 'local[': Could not parse Master URL: 'local['."
    assert ran.stderr.splitlines()[-1] == output


def answers(spark: str, **more: str) -> dict[str, Any]:
    """What the command answers."""
    ran = command(spark, **more)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def command(spark: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run the command with a Spark of its own."""
    known = {key: value for key, value in os.environ.items() if not key.startswith("PYSPARK")}
    return subprocess.run(
        [sys.executable, "-m", "lonnymq.cli", *ASKED, *TRIED, "--spark", spark, *CONF, "--json"],
        env={**known, **more, "SPARK_LOCAL_IP": "127.0.0.1"},
        capture_output=True,
        text=True,
        timeout=800,
    )
