"""Declarative pipelines: the queue as the source of a streaming table and as a sink, run by spark-pipelines."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

import lonnymq
from lonnymq import NewMessage

EXAMPLE = Path(__file__).parents[2] / "examples" / "pipeline"
SPARK_PIPELINES = Path(pyspark.__file__).parent / "bin" / "spark-pipelines"

pytestmark = [pytest.mark.timeout(900), pytest.mark.long]  # a Spark on a machine that may be busy


def run_pipeline(folder: Path, dsn: str) -> None:
    """Run the example with its tables and checkpoints in a folder."""
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.catalogImplementation": "hive",  # remembers the tables from run to run
    }
    conf = [part for key, value in settings.items() for part in ("--conf", f"{key}={value}")]
    ran = subprocess.run(
        [SPARK_PIPELINES, "run", *conf, "--spec", folder / "spark-pipeline.yaml"],
        env={
            **os.environ,
            "LONNYMQ_DSN": dsn,
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": "127.0.0.1",
        },
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


def orders(*amounts: int) -> list[NewMessage]:
    return [
        NewMessage(json.dumps({"amount": each}).encode(), f"tenant-{each % 2}", kind="order")
        for each in amounts
    ]


def test_a_pipeline_takes_each_message_once_and_writes_each_review_once(
    dsn_18: str, tmp_path: Path
) -> None:
    import pyarrow.dataset as ds

    spec = (EXAMPLE / "spark-pipeline.yaml").read_text()
    (tmp_path / "spark-pipeline.yaml").write_text(
        spec.replace("storage: storage", f"storage: file://{tmp_path}/storage")
    )
    (tmp_path / "orders.py").write_text((EXAMPLE / "orders.py").read_text())
    with lonnymq.Queue(dsn_18) as queue:
        queue.create_many(orders(1, 2, 99, 100, 250))
        run_pipeline(tmp_path, dsn_18)
        assert queue.channel("reviews").peek()[0].kind == "review"
        queue.create_many(orders(3, 500))
        run_pipeline(tmp_path, dsn_18)
        reviews = queue.channel("reviews").stats()
        assert reviews is not None
        assert reviews.waiting == 3
        assert queue.stats().waiting == 3
        completed = [row for row in queue.history_read() if row.outcome == "completed"]
        assert len(completed) == 7
    table = ds.dataset(tmp_path / "spark-warehouse" / "orders", format="parquet").to_table()
    assert sorted(table["amount"].to_pylist()) == [1, 2, 3, 99, 100, 250, 500]
