"""Spark runs a task again that failed, or whose commit message was lost: every row is there once all the same."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from spark.failing_tasks import ROWS, WAYS

PROGRAM = Path(__file__).with_name("failing_tasks.py")
WRITTEN = """
select channel, count(*), count(distinct number), array_agg(number order by id) = array_agg(number order by number)
from lonnymq.message, lateral (select rtrim(convert_from(content, 'UTF8'), '.')::int as number) n
group by 1
"""


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_task_that_fails_anywhere_and_runs_again_writes_every_row_once(
    connect, dsn_18: str, tmp_path: Path
) -> None:
    known = {key: value for key, value in os.environ.items() if not key.startswith("PYSPARK")}
    path = os.pathsep.join([str(PROGRAM.parents[1]), *filter(None, [known.get("PYTHONPATH")])])
    ran = subprocess.run(
        [sys.executable, PROGRAM, dsn_18, tmp_path],
        env={**known, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert ran.returncode == 0, ran.stderr
    connection = connect(dsn_18)
    written = {row[0]: row[1:] for row in connection.execute(WRITTEN)}
    assert written == {
        f"{kind} {point} {size}": (ROWS, ROWS, kind == "batch") for kind, point, size in WAYS
    }  # the files of a stream are read in an order of Spark's
    # What the attempts that failed had put aside is left over, and is swept; what was published is gone.
    stages = connection.execute("select count(*) from lonnymq.stage").fetchone()
    assert connection.execute("select dropped from lonnymq.stage_cleanup(0)").fetchone() == stages
    assert stages != (0,)
    assert connection.execute("select * from lonnymq.queue_check()").fetchall() == []
