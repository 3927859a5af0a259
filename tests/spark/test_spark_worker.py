"""`lonnymq spark-worker module:object`: workers on a cluster until SIGTERM."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from commands import environment, run
from lonnymq import NewMessage, Queue
from spark.clusters import bare_python, cluster
from spark.streams import finished, left
from support import eventually, message_id

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


@pytest.mark.long
@pytest.mark.timeout(900)
def test_workers_are_replaced_until_sigterm(dsn_18: str, folder: Path) -> None:
    text = work(dsn_18, folder, "--master", "local[1]", "--num-workers", "1")
    assert answers(text) == {"completed": 2, "dead": 1}


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_cluster_whose_executors_lack_the_library_works_until_sigterm(
    dsn_18: str, folder: Path
) -> None:
    """Neither the library nor the module of the handlers is on the executors."""
    python = bare_python(folder / "bare")
    with cluster(folder) as master:
        text = work(
            *(dsn_18, folder, "--master", master, "--num-workers", "2"),
            *("--conf", f"spark.pyspark.python={python}"),
            *("--conf", "spark.driver.host=127.0.0.1", "--conf", "spark.executor.memory=512m"),
        )
    assert answers(text) == {"completed": 2, "dead": 1}


def answers(text: str) -> Counter[str]:
    """The answers of all workers; a message that a worker did not begin in time is deferred, and taken by the next."""
    ends = " ".join(re.findall(r"workers ended: (.*)", text))
    ended: Counter[str] = Counter()
    for many, answer in re.findall(r"(\d+) (\w+)", ends):
        ended[answer] += int(many)
    del ended["deferred"]
    return ended


def work(dsn: str, folder: Path, *options: str) -> str:
    """Run the command until three messages are worked off, tell it to stop, and give back what it said."""
    program = [
        sys.executable,
        "-m",
        "lonnymq.cli",
        "spark-worker",
        "jobs:worker",
        "--duration",
        "5s",
    ]
    with (folder / "log").open("wb") as log, Queue(dsn) as queue:
        made = queue.create_many(
            [NewMessage(b'{"width": %d}' % each, "a", kind="resize") for each in (5, 50, 500)]
        )
        hidden = ("PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET", "PYSPARK_PYTHON")
        known = {key: each for key, each in environment(dsn).items() if key not in hidden}
        process = subprocess.Popen(
            [*program, "--conf", "spark.ui.enabled=false", *options],
            cwd=folder,
            env=known,
            stdout=log,
            stderr=log,
        )
        try:
            eventually(lambda: not left(dsn) or process.poll() is not None, within=500)
            process.send_signal(signal.SIGTERM)
            code = process.wait(120)
        finally:
            if process.poll() is None:
                process.kill()
    text = (folder / "log").read_text()
    assert code == 0, text
    assert "stopped" in text
    ends = [[end for end in finished(dsn)[message_id(each)] if end != "deferred"] for each in made]
    assert ends == [["completed"], ["completed"], ["dead"]]
    assert left(dsn) == []
    return text


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("jobs:worker", "--duration", "soon"), "--duration"),
        (("jobs:idle",), "The worker has no handlers"),
        (("jobs",), "write module:object"),
        (("jobs:worker", "--schema", "elsewhere"), "Set the schema in your code"),
    ],
)
def test_what_makes_no_sense_is_refused_before_spark_starts(
    monkeypatch: pytest.MonkeyPatch,
    dsn_18: str,
    folder: Path,
    arguments: tuple[str, ...],
    text: str,
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
    sys.modules.pop("jobs", None)
    ran = run("spark-worker", *arguments, dsn=dsn_18)
    sys.modules.pop("jobs", None)
    assert ran.code != 0
    assert text in ran.err
