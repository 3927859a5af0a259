"""A sync on a real cluster, whose Python does not have the library and whose executors are killed: every row once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import lonnymq.lake
from lake.history_fixture import HistoryFixture, settle
from lake.test_killed_sync import age, strangers
from spark.clusters import bare_python, cluster

PROGRAM = Path(__file__).with_name("cluster_sync.py")


@pytest.mark.long
@pytest.mark.timeout(900)
def test_executors_killed_in_the_middle_of_a_sync_lose_nothing_and_repeat_nothing(
    history_fixture: HistoryFixture, tmp_path: Path
) -> None:
    lake, python = tmp_path / "lake", bare_python(tmp_path / "bare")
    history_fixture.add_each(40)
    settle(history_fixture.dsn)
    with cluster(tmp_path) as master:
        done = sync(master, python, history_fixture.dsn, lake, tmp_path)
    assert (tmp_path / "writing").exists()
    assert (tmp_path / "written").exists()
    assert (done["rows"], ids(lake)) == (40, history_fixture.made)
    behind = lonnymq.lake.read_status(lake, url=history_fixture.dsn, source="shop").behind
    assert behind is not None
    assert (behind.rows, behind.confirmed) == (0, behind.upto)

    left = strangers(
        lake
    )  # of the task that was killed with its file open, and of the one that had it whole
    assert len(left) >= 2
    age(left)
    lonnymq.lake.vacuum(lake)
    assert strangers(lake) == []
    assert ids(lake) == history_fixture.made


def ids(lake: Path) -> list[int]:
    """The ids of the messages in the lake, as often as they are in it."""
    from deltalake import DeltaTable

    rows = DeltaTable(lake / "history").to_pyarrow_table(columns=["message_id"])
    return sorted(rows.column("message_id").to_pylist())


def sync(master: str, python: Path, dsn: str, lake: Path, folder: Path) -> dict[str, Any]:
    """Run the program, and read what the command says."""
    known = {key: value for key, value in os.environ.items() if not key.startswith("PYSPARK")}
    path = os.pathsep.join([str(PROGRAM.parents[1]), *filter(None, [known.get("PYTHONPATH")])])
    ran = subprocess.run(
        [sys.executable, PROGRAM, master, python, dsn, lake, folder],
        env={**known, "PYTHONPATH": path, "SPARK_LOCAL_IP": "127.0.0.1"},
        capture_output=True,
        text=True,
        timeout=800,
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)
