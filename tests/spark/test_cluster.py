"""A master and two workers as processes, whose Python does not have the library."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from lonnymq import NewMessage, Queue
from spark.cluster_writer import ROWS
from spark.clusters import bare_python, cluster
from spark.streams import finished, left
from spark.test_write_deaths import numbers
from support import message_id

PROGRAM = Path(__file__).with_name("cluster_program.py")
WRITING = Path(__file__).with_name("cluster_writer.py")


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_cluster_reads_and_works_though_an_executor_is_killed(
    dsn_18: str, tmp_path: Path
) -> None:
    python = bare_python(tmp_path / "bare")
    with Queue(dsn_18) as queue:
        made = queue.create_many([NewMessage(b"%d" % each, f"c{each % 5}") for each in range(100)])
    ids = [message_id(each) for each in made]
    with cluster(tmp_path) as master:
        seen = json.loads(run(PROGRAM, master, python, dsn_18, tmp_path).splitlines()[-1])
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


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_write_has_every_row_once_though_an_executor_is_killed_and_a_task_has_two_copies(
    connect, dsn_18: str, tmp_path: Path
) -> None:
    with cluster(tmp_path) as master:
        run(WRITING, master, dsn_18, tmp_path)
    assert {"killed", "slow"} <= {each.name for each in tmp_path.iterdir()}
    assert numbers(connect(dsn_18)) == list(range(ROWS))


def run(program: Path, *arguments: object) -> str:
    """Run a program, and return what it printed."""
    known = {key: value for key, value in os.environ.items() if not key.startswith("PYSPARK")}
    path = os.pathsep.join([str(PROGRAM.parents[1]), *filter(None, [known.get("PYTHONPATH")])])
    ran = subprocess.run(
        [sys.executable, program, *map(str, arguments)],
        env={**known, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout
