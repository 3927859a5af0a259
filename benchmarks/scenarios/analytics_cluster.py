"""Analytics on a standalone cluster, in a separate process: the benchmark's own Java has another memory limit."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from itertools import cycle
from pathlib import Path

import psutil

from benchmarks.entrant import Measurement, time_call
from benchmarks.processes import SystemFailed
from benchmarks.synthetic_history import FIRST, make_history, open_session, warm_up_spark

ROWS, DAYS = 4_000_000, 2
TESTS = str(Path(__file__).parents[2] / "tests")  # which know how to start a cluster
CONFIG = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.executor.cores": 1,
    "spark.executor.memory": "1200m",
}


def measure_on_cluster(folder: Path, cores: int, rows: int) -> Measurement:
    """Time the analytics of so many rows on an application that may have so many cores."""
    with start_cluster(folder / f"cluster-{cores}") as master:
        given = [master, str(cores), str(folder / "cluster-lake"), str(rows)]
        command = [sys.executable, "-m", __name__, *given]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SystemFailed(f"analytics on a cluster with {cores} cores: exit {done.returncode}")
    return Measurement(rows, float(done.stdout.split()[-1]))


@contextmanager
def start_cluster(folder: Path) -> Iterator[str]:
    """A cluster of two workers, each with its executors and all that their Java does on a core of its own."""
    if TESTS not in sys.path:
        sys.path.append(TESTS)
    from spark import clusters

    folder.mkdir()
    with clusters.cluster(folder, memory="1600m") as master:
        pin_workers(master)
        yield master


def pin_workers(master: str) -> None:
    """Keep each worker of a cluster to a core, where the system can: one core is no core if another helps it out."""
    if not hasattr(os, "sched_setaffinity"):
        return
    cores = cycle(sorted(os.sched_getaffinity(0)))
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        if master in words and any(word.endswith(".deploy.worker.Worker") for word in words):
            core = next(cores)
            for thread in process.threads():
                os.sched_setaffinity(thread.id, {core})


def main(master: str, cores: str, lake: str, rows: str) -> None:
    """What that process does; the last that it prints is how many seconds it took."""
    from lonnymq.analytics import refresh_analytics
    from lonnymq.lake import write_history

    place = Path(lake)
    scratch = place.parent / f"cluster-{cores}"
    with open_session(scratch, master, {**CONFIG, "spark.cores.max": cores}) as spark:
        if not place.exists():
            write_history(make_history(spark, int(rows), DAYS, FIRST), place, source="synthetic")
        warm_up_spark(spark, scratch / "warm")
        days = [(FIRST + timedelta(days=day)).date() for day in range(DAYS)]
        print(time_call(int(rows), lambda: refresh_analytics(spark, place, days)).seconds)


if __name__ == "__main__":
    main(*sys.argv[1:])
