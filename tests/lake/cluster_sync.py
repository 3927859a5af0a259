"""A program that runs `lonnymq lake sync` on a cluster and has an executor killed with -9, twice.

    python cluster_sync.py master python dsn lake folder

Once while a task of the second batch has its file open, and once when a task of the third slice has written its file
whole but has not told the driver yet. Prints what the command says; leaves a file for each kill in the folder.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from lonnymq.cli.app import app
from lonnymq.lake import export, syncer
from lonnymq.lake.export import ExportJob, WrittenFile

KILLS = {2: "writing", 3: "written"}  # in which slice, and when
ROWS = 8  # a commit


class Batches:
    """Sends the tasks of one batch after the other; in some of them the first that comes to a point is killed."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.begun = str(folder), 0

    def run(self, spark: Any, job: ExportJob) -> list[WrittenFile]:
        self.begun += 1
        point, folder = KILLS.get(self.begun), self.folder
        tasks = spark.range(0, len(job.parts), 1, len(job.parts))
        work = tasks.mapInArrow(lambda ids: do(ids, job, point, folder), export.WRITTEN_DDL)
        return [WrittenFile(*row) for row in work.collect()]


def do(ids: Iterator[Any], job: ExportJob, point: str | None, folder: str) -> Iterator[Any]:
    """One task's work, on an executor."""

    read: Callable[..., Iterator[Any]] = export.read_part

    def read_and_die(*given: Any) -> Iterator[Any]:
        yield from read(*given)  # from here on what was read is in a file that is still open
        kill("writing", folder)

    vars(export)["read_part"] = read_and_die if point == "writing" else read
    try:
        written = list(export.export_parts(ids, job=job))
    finally:
        vars(export)["read_part"] = read  # a worker of Python's does more than one task
    if point == "written":
        kill("written", folder)
    yield from written


def kill(point: str, folder: str) -> None:
    """Kill the executor that this task belongs to, and the task; once, whoever comes here first."""
    try:
        os.close(os.open(f"{folder}/{point}", os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    with open(f"/proc/{os.getppid()}/stat") as stat:  # whose parent is the executor's Java
        os.kill(int(stat.read().rpartition(")")[2].split()[1]), signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


def main(master: str, python: str, dsn: str, lake: str, folder: str) -> None:
    vars(syncer)["run_export"] = Batches(Path(folder)).run
    conf = {
        "spark.ui.enabled": "false",
        "spark.pyspark.python": python,
        "spark.executor.memory": "512m",
        "spark.driver.host": "127.0.0.1",
    }
    text = [each for key, value in conf.items() for each in ("--conf", f"{key}={value}")]
    where = ["--lake", lake, "--source", "shop", "--dsn", dsn, "--rows", str(ROWS)]
    app(["lake", "sync", *where, "--master", master, *text, "--json"])


if __name__ == "__main__":
    main(*sys.argv[1:])
