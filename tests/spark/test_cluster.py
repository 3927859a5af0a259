"""A master and two workers as processes, whose Python does not have the library."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from lonnymq import NewMessage, Queue
from spark.clusters import bare_python, cluster
from spark.streams import finished, left

PROGRAM = Path(__file__).with_name("on_cluster.py")


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_cluster_reads_and_works_though_an_executor_is_killed(
    dsn_18: str, tmp_path: Path
) -> None:
    python = bare_python(tmp_path / "bare")
    with Queue(dsn_18) as queue:
        made = queue.create_many([NewMessage(b"%d" % each, f"c{each % 5}") for each in range(100)])
    ids = [each.id for each in made]
    with cluster(tmp_path) as master:
        seen = run(master, python, dsn_18, tmp_path)
    assert seen["has_library"] == [False, False]
    assert seen["killed"]
    assert seen["ids"] == ids
    first = ids[-1] + 1
    assert [answer[:2] for answer in seen["answers"]] == [
        *([first + each, "completed"] for each in range(3)),
        [first + 3, "dead"],
    ]
    assert seen["answers"][-1][2] == "ValueError: three is too many"
    ended = {each: ["completed"] for each in [*ids, first, first + 1, first + 2]}
    assert finished(dsn_18) == ended | {first + 3: ["dead"]}
    assert left(dsn_18) == []


def run(master: str, python: Path, dsn: str, folder: Path) -> dict:
    """Run the program, and read what it saw."""
    known = {key: value for key, value in os.environ.items() if not key.startswith("PYSPARK")}
    path = os.pathsep.join([str(PROGRAM.parents[1]), *filter(None, [known.get("PYTHONPATH")])])
    ran = subprocess.run(
        [sys.executable, PROGRAM, master, python, dsn, folder],
        env={**known, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout.splitlines()[-1])
