"""A program that syncs a database into a lake, and kills itself at a point of its choice.

    python killed_sync.py writing|written|committed|settings dsn lake

writing: a task of the second batch has written a file, and the others have not. written: all files of the second
slice are there, the table does not know of them. committed: the table has the slice, PostgreSQL has not heard of it.
settings: what channels are set to is in the lake, no history is.

In `writing` Spark does the work, and is killed with it; the other points lie on the driver, and its tasks are done
where it is.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any

import pyarrow as pa

import lonnymq.spark
from lonnymq.lake import export
from lonnymq.lake.export import ExportJob, WrittenFile, export_parts
from lonnymq.lake.location import resolve_lake
from lonnymq.lake.source import identify_source
from lonnymq.lake.syncer import Syncer

POINT, DSN, LAKE = sys.argv[1:] if len(sys.argv) == 4 else ("", "", "")


def die() -> None:
    """End this program and its Java as a power cut would, whichever of its processes says so."""
    os.killpg(int(Path(os.environ["DYING_FOLDER"], "group").read_text()), signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


class KilledSyncer(Syncer):
    """Dies when something of the second batch is done."""

    batches_begun = 0

    def make_job(self, found: Any) -> ExportJob:
        self.batches_begun += 1
        return super().make_job(found)

    def commit(self, files: list[WrittenFile], since: int | None, upto: int) -> None:
        if self.batches_begun == 2 and POINT == "written":
            die()
        super().commit(files, since, upto)

    def confirm(self, queue: Any, upto: int) -> None:
        if self.batches_begun == 2 and POINT == "committed":
            die()
        super().confirm(queue, upto)

    def sync_batch(self, until: Event) -> Any:
        if POINT == "settings":
            die()
        return super().sync_batch(until)


def export_here(_: object, job: ExportJob) -> list[WrittenFile]:
    """Do the tasks of a batch one after the other, in this process."""
    ids = pa.RecordBatch.from_pydict({"id": list(range(len(job.parts)))})
    written = export_parts(iter([ids]), job=job)
    return [WrittenFile(**row) for batch in written for row in batch.to_pylist()]


def die_in_the_second(spark: Any, job: ExportJob) -> list[WrittenFile]:
    """Do the tasks of a batch on Spark; in the second batch one of them dies when its file is whole."""
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    is_second = any(Path(LAKE, "history", "_delta_log").glob("*1.json"))
    tasks = spark.range(0, len(job.parts), 1, len(job.parts))
    work = tasks.mapInArrow(lambda ids: export_and_die(ids, job, is_second), export.WRITTEN_DDL)
    return [WrittenFile(*row) for row in work.collect()]


def export_and_die(ids: Any, job: ExportJob, is_second: bool) -> Any:
    """One task's work, and its end."""
    written = list(export_parts(ids, job=job))
    if is_second:
        die()
    yield from written


def main() -> None:
    Path(os.environ["DYING_FOLDER"], "group").write_text(str(os.getpgid(0)))
    if POINT == "writing":
        spark: Any = lonnymq.spark.session("local[1]", config={"spark.ui.enabled": "false"})
        run: Callable[[Any, ExportJob], list[WrittenFile]] = die_in_the_second
    else:
        spark = SimpleNamespace(sparkContext=SimpleNamespace(defaultParallelism=2))
        run = export_here
    vars(sys.modules["lonnymq.lake.syncer"])["run_export"] = run
    with KilledSyncer(
        spark, resolve_lake(LAKE), identify_source(DSN, source="shop"), rows=8
    ) as syncer:
        list(syncer.sync_batches(Event()))


if __name__ == "__main__":
    main()
