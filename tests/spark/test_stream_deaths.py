"""A driver killed with -9 at each point of a batch: the next one goes on, and every message is in the table once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lonnymq import NewMessage, Queue
from spark.streams import Table, finished, left

PROGRAM = Path(__file__).with_name("dying.py")
pytestmark = pytest.mark.timeout(900)  # a second Spark, on a machine that may be busy


@pytest.mark.parametrize(
    "point",
    [
        pytest.param("claimed", marks=pytest.mark.long),
        "reading",
        pytest.param("written", marks=pytest.mark.long),
    ],
)
def test_a_killed_driver_s_batch_is_gone_on_with(
    spark: SparkSession, dsn_18: str, tmp_path: Path, point: str
) -> None:
    with Queue(dsn_18) as queue:
        made = queue.create_many([NewMessage(b"%d" % each, f"c{each % 5}") for each in range(100)])
        died = run(point, dsn_18, tmp_path)
        assert died == -signal.SIGKILL
        claimed = queue.stats().leased
        assert 60 <= claimed <= 100  # the batch, and what was claimed for the next one by then
        Table(spark, dsn_18, tmp_path, maxMessagesPerTrigger=60).run()
    ids = [each.id for each in made]
    assert Table(spark, dsn_18, tmp_path).ids() == ids
    assert finished(dsn_18) == {each: ["completed"] for each in ids}
    assert left(dsn_18) == []


def run(point: str, dsn: str, folder: Path) -> int:
    """Run the program in a group of its own until it has died."""
    hidden = ("PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET", "SPARK_LOCAL_DIRS")
    known = {key: value for key, value in os.environ.items() if key not in hidden}
    path = os.pathsep.join([str(PROGRAM.parents[1]), *filter(None, [known.get("PYTHONPATH")])])
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, PROGRAM, point, dsn, folder],
            env={**known, "DYING_FOLDER": str(folder), "PYTHONPATH": path},
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            return process.wait(600)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
