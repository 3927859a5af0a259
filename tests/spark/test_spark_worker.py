"""`lonnymq spark-worker module:object`: shifts until it is told to stop."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from commands import environment, run
from lonnymq import NewMessage, Queue
from spark.streams import finished, left
from support import eventually

JOBS = """
from dataclasses import dataclass

import lonnymq

worker = lonnymq.Worker()
idle = lonnymq.Worker()
LIMIT = 100


@dataclass
class Photo:
    width: int


@worker.handler("resize", max_attempts=1)
async def resize(photo: Photo) -> None:
    if photo.width > LIMIT:
        raise ValueError("too wide")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "jobs.py").write_text(JOBS)
    return tmp_path


@pytest.mark.timeout(600)
@pytest.mark.long
def test_shifts_are_worked_until_sigterm(dsn_18: str, folder: Path) -> None:
    command = [
        *(
            sys.executable,
            "-m",
            "lonnymq.cli",
            "spark-worker",
            "jobs:worker",
            "--master",
            "local[1]",
        ),
        *("--shift", "1s", "--tasks", "1", "--conf", "spark.ui.enabled=false"),
    ]
    with (folder / "log").open("wb") as log, Queue(dsn_18) as queue:
        made = queue.create_many(
            [NewMessage(b'{"width": %d}' % each, "a", kind="resize") for each in (5, 50, 500)]
        )
        hidden = {"PYSPARK_GATEWAY_PORT": "", "PYSPARK_PYTHON": sys.executable}
        known = {key: each for key, each in environment(dsn_18).items() if key not in hidden}
        process = subprocess.Popen(command, cwd=folder, env=known, stdout=log, stderr=log)
        try:
            eventually(lambda: len(finished(dsn_18)) == 3 or process.poll() is not None, within=300)
            process.send_signal(signal.SIGTERM)
            code = process.wait(120)
        finally:
            if process.poll() is None:
                process.kill()
    said = (folder / "log").read_text()
    assert code == 0, said
    assert "a shift has ended: 2 completed, 1 dead" in said
    assert "shifts have ended" in said
    assert finished(dsn_18) == {
        each.id: [end] for each, end in zip(made, ["completed", "completed", "dead"], strict=True)
    }
    assert left(dsn_18) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("jobs:worker", "--shift", "soon"), "--shift"),
        (("jobs:idle",), "The worker has no handlers"),
        (("jobs",), "write module:object"),
        (("jobs:worker", "--schema", "elsewhere"), "The schema is said where the Worker is made"),
    ],
)
def test_what_makes_no_sense_is_refused_before_spark_starts(
    monkeypatch: pytest.MonkeyPatch,
    dsn_18: str,
    folder: Path,
    arguments: tuple[str, ...],
    said: str,
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
    sys.modules.pop("jobs", None)
    ran = run("spark-worker", *arguments, dsn=dsn_18)
    sys.modules.pop("jobs", None)
    assert ran.code != 0
    assert said in ran.err
