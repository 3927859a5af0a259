"""A driver killed with -9 at each point of a batch, or left behind: the next one goes on, and every message is in the
table once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lonnymq import NewMessage, Queue
from spark.streams import Table, finished, left
from support import eventually, message_id

PROGRAM = Path(__file__).with_name("killed_reader.py")
pytestmark = pytest.mark.timeout(900)  # a second Spark, on a machine that may be busy


@pytest.mark.long
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
    ids = [message_id(each) for each in made]
    assert Table(spark, dsn_18, tmp_path).ids() == ids
    assert finished(dsn_18) == {each: ["completed"] for each in ids}
    assert left(dsn_18) == []


@pytest.mark.long
def test_a_driver_that_comes_back_after_another_took_over_is_refused(
    spark: SparkSession, dsn_18: str, tmp_path: Path
) -> None:
    old, new = tmp_path / "old", Table(spark, dsn_18, tmp_path / "new", maxMessagesPerTrigger=60)
    old.mkdir()
    with Queue(dsn_18) as queue:
        made = queue.create_many([NewMessage(b"%d" % each, f"c{each % 5}") for each in range(100)])
        ids = [message_id(each) for each in made]
        with running("late", dsn_18, old) as process:
            eventually(
                lambda: (old / "standing").exists() or process.poll() is not None, within=400
            )
            new.run()
            (old / "go").touch()
            assert process.wait(400) == 1
    assert "StreamFenced" in (old / "log").read_text()
    assert new.ids() == ids
    assert finished(dsn_18) == {each: ["completed"] for each in ids}
    assert left(dsn_18) == []


def run(point: str, dsn: str, folder: Path) -> int:
    """Run the program until it has died."""
    with running(point, dsn, folder) as process:
        return process.wait(600)


@contextmanager
def running(point: str, dsn: str, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The program, in a group of its own."""
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
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
