"""(n) The simulator: messages a second that one core replays, and a sweep on one executor and on two."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.figures import median, ratios
from benchmarks.lane import Reading
from benchmarks.record import Record
from benchmarks.report.table import Row, as_markdown, figure
from benchmarks.run import Run
from lonnymq.simulate import (
    Limits,
    Recorded,
    Replayed,
    Scenario,
    Shape,
    Trial,
    replay,
    sweep_on_spark,
    trials,
    workload,
)
from lonnymq.simulate.replay import Workload
from lonnymq.simulate.settings import settings

NAME = "lonnymq"
MESSAGES, QUICK_MESSAGES = 100_000, 20_000
SHAPES = {
    "steady": Shape(tenants=100, workers=16, load=0.8),
    "backlog": Shape(tenants=100, workers=16, load=1.2),
    "noisy": Shape(tenants=100, workers=16, load=0.95, noisy=0.6),
}
LIMITS = {
    "none": Limits(),
    "concurrency": Limits(max_concurrency=4),
    "rate": Limits(release_interval_ms=200, burst=5),
}
SCENARIOS = 24
# As the page of what-if calls them.
WORKLOADS = {
    "steady": "0.8 of the load, steady",
    "backlog": "1.2 of the load: a backlog",
    "noisy": "0.95 of the load, one tenant sends 60%",
}
LIMITED = {
    "none": "no limits",
    "concurrency": "`max_concurrency` for all",
    "rate": "`release_interval_ms` for all",
}
TESTS = str(Path(__file__).parents[2] / "tests")  # which know how to start a cluster


def run(run: Run) -> None:
    many = QUICK_MESSAGES if run.quick else MESSAGES
    for name, shape in SHAPES.items():
        work = workload(Shape(**{**fields(shape), "messages": many}))
        for limit, limits in LIMITS.items():
            for _ in range(run.repeat):
                case = {"workload": name, "limits": limit}
                take = partial(timed, work, limits)
                run.sample("simulate", case, NAME, "messages/s", take)
    sweeps(run, workload(Shape(messages=many, noisy=0.6, load=0.95)))
    run.say(
        f"for docs/what-if.md:\n\n{as_markdown(page_table(run.record))}\n\n{page_words(run.record)}\n"
    )


def fields(shape: Shape) -> dict[str, Any]:
    return {name: getattr(shape, name) for name in shape.__slots__}


def timed(work: Workload, limits: Limits) -> Reading:
    began = time.process_time()
    replay(work, {}, workers=16, otherwise=limits)
    return Reading(len(work), time.process_time() - began)


def sweeps(run: Run, work: Workload) -> None:
    """The same sweep on a standalone cluster, with one executor of one core and with two."""
    history = Recorded(work, Replayed([], []), 0)
    asked = scenarios()
    for _ in range(run.repeat):
        for executors in (1, 2):
            with session(executors) as spark:
                sweep_on_spark(
                    spark, history, asked[: 2 * executors]
                )  # Java, Python and the workload are there
                take = partial(swept, spark, history, asked)
                run.sample("simulate", {"executors": executors}, NAME, "messages/s", take)


def scenarios() -> list[Trial]:
    """Workers and limits, six of one and four of the other."""
    values = [settings("*.max_concurrency=2,4,8")]
    found = trials(Scenario(8), workers=(8, 12, 16, 24, 32, 64), changes=values)
    assert len(found) == SCENARIOS
    return found


def swept(spark: Any, history: Recorded, asked: list[Trial]) -> Reading:
    began = time.monotonic()
    sweep_on_spark(spark, history, asked)
    return Reading(len(asked) * len(history.work), time.monotonic() - began)


def page_table(record: Record) -> list[Row]:
    """What a core replays, as the page of what-if shows it."""

    def cell(workload: str, limits: str) -> str:
        entry = record.find("simulate", {"workload": workload, "limits": limits}, NAME)
        return figure(entry.as_json() if entry else None)

    rows = [
        [words, *(cell(name, limits) for limits in LIMITED)] for name, words in WORKLOADS.items()
    ]
    return [["messages/s", *LIMITED.values()], *rows]


def page_words(record: Record) -> str:
    """The sweep, as the page of what-if tells of it."""
    one, two = (record.find("simulate", {"executors": many}, NAME) for many in (1, 2))
    found = sorted(ratios(two.samples, one.samples)) if one and two else []
    if not found:
        return "The sweep did not run."
    return (
        f"The sweep is replayed at {median(one.samples):,.0f} messages a second on one executor and at "
        f"{median(two.samples):,.0f} on two: {median(found):.2f} times ({found[0]:.2f} to {found[-1]:.2f})."
    )


@contextmanager
def session(executors: int) -> Iterator[Any]:
    """A session on a cluster of two workers, of which it takes so many."""
    import lonnymq.spark

    if TESTS not in sys.path:
        sys.path.append(TESTS)
    from spark.clusters import cluster

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with tempfile.TemporaryDirectory() as folder, cluster(Path(folder)) as master:
        config = {
            "spark.ui.enabled": "false", "spark.log.level": "ERROR", "spark.executor.cores": 1,
            "spark.executor.memory": "512m", "spark.cores.max": executors,
            "spark.driver.host": "127.0.0.1",
        }  # fmt: skip
        spark = lonnymq.spark.session(master, app="lonnymq benchmark", config=config)
        try:
            yield spark
        finally:
            spark.stop()
