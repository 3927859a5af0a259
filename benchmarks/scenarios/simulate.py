"""(n) The simulator: messages a second that one core replays, and a sweep on one executor and on two."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmarks.entrant import Measurement
from benchmarks.record import Record
from benchmarks.report.table import Row, format_figure, render_markdown
from benchmarks.run import Run
from benchmarks.summary_statistics import median, ratios_by_round
from lonnymq.simulate import (
    Limits,
    RecordedWorkload,
    ReplayResult,
    ReplayTimes,
    Scenario,
    Trial,
    WorkloadShape,
    make_trials,
    make_workload,
    replay,
    run_scenario,
    run_trials_on_spark,
)
from lonnymq.simulate.scenario import parse_settings
from lonnymq.simulate.sweep import order_trials, pack_workload, unpack_workload
from lonnymq.simulate.workload import Workload

NAME, PLAIN = "lonnymq", "plain processes"
MESSAGES, QUICK_MESSAGES = 100_000, 20_000
WORKLOAD_SHAPES = {
    "steady": WorkloadShape(tenants=100, workers=16, load=0.8),
    "backlog": WorkloadShape(tenants=100, workers=16, load=1.2),
    "noisy": WorkloadShape(tenants=100, workers=16, load=0.95, noisy=0.6),
}
LIMITS = {
    "none": Limits(),
    "concurrency": Limits(max_concurrency=4),
    "rate": Limits(min_interval_ms=200, burst=5),
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
    "rate": "`min_interval_ms` for all",
}
TESTS = str(Path(__file__).parents[2] / "tests")  # which know how to start a cluster


def run(run: Run) -> None:
    many = QUICK_MESSAGES if run.quick else MESSAGES
    for name, shape in WORKLOAD_SHAPES.items():
        work = make_workload(replace(shape, messages=many))
        for limit, limits in LIMITS.items():
            for _ in range(run.repeat):
                case = {"workload": name, "limits": limit}
                take = partial(measure_replay, work, limits)
                run.sample("simulate", case, NAME, "messages/s", take)
    measure_sweeps(run, make_workload(WorkloadShape(messages=many, noisy=0.6, load=0.95)))
    run.log(
        f"for docs/what-if.md:\n\n{render_markdown(render_table_rows(run.record))}\n\n{describe_sweep(run.record)}\n"
    )


def measure_replay(work: Workload, limits: Limits) -> Measurement:
    began = time.process_time()
    replay(work, {}, workers=16, default_limits=limits)
    return Measurement(len(work), time.process_time() - began)


def measure_sweeps(run: Run, work: Workload) -> None:
    """The same sweep on a standalone cluster, with one executor of one core and with two; and in plain processes."""
    history = RecordedWorkload(work, ReplayTimes([], []), 0)
    trials = make_sweep_trials()
    for _ in range(run.repeat):
        for executors in (1, 2):
            with open_session(executors) as spark:
                run_trials_on_spark(
                    spark, history, trials[: 2 * executors]
                )  # Java, Python and the workload are there
                take = partial(sweep_on_spark, spark, history, trials)
                run.sample("simulate", {"executors": executors}, NAME, "messages/s", take)
            with start_processes(executors, history) as pool:
                list(pool.map(replay_trial, trials[: 2 * executors]))
                take = partial(sweep_with_processes, pool, trials, len(history.work))
                run.sample("simulate", {"executors": executors}, PLAIN, "messages/s", take)


def make_sweep_trials() -> list[Trial]:
    """Workers and limits, six of one and four of the other."""
    values = [parse_settings("*.max_concurrency=2,4,8")]
    found = make_trials(Scenario(8), workers=(8, 12, 16, 24, 32, 64), changes=values)
    assert len(found) == SCENARIOS
    return found


def sweep_on_spark(spark: Any, history: RecordedWorkload, trials: list[Trial]) -> Measurement:
    began = time.monotonic()
    run_trials_on_spark(spark, history, trials)
    return Measurement(len(trials) * len(history.work), time.monotonic() - began)


def render_table_rows(record: Record) -> list[Row]:
    """What a core replays, as the page of what-if shows it."""

    def cell(workload: str, limits: str) -> str:
        entry = record.find("simulate", {"workload": workload, "limits": limits}, NAME)
        return format_figure(entry.as_json() if entry else None)

    rows = [
        [words, *(cell(name, limits) for limits in LIMITED)] for name, words in WORKLOADS.items()
    ]
    return [["messages/s", *LIMITED.values()], *rows]


def describe_sweep(record: Record) -> str:
    """The sweep, as the page of what-if tells of it."""

    def samples(name: str, executors: int) -> list[float]:
        entry = record.find("simulate", {"executors": executors}, name)
        return entry.samples if entry else []

    one, two = samples(NAME, 1), samples(NAME, 2)
    found, plain = ratios_by_round(two, one), ratios_by_round(samples(PLAIN, 2), samples(PLAIN, 1))
    if not found or not plain:
        return "The sweep did not run."
    return (
        f"The sweep replays {median(one):,.0f} messages per second on one executor and {median(two):,.0f} on "
        f"two: {median(found):.2f} times ({min(found):.2f} to {max(found):.2f}).\n"
        f"Two plain processes without Spark are {median(plain):.2f} times as fast as one process on that machine."
    )


def start_processes(many: int, history: RecordedWorkload) -> ProcessPoolExecutor:
    """The same without Spark: so many processes, each with the workload. What they lose is this machine's doing."""
    return ProcessPoolExecutor(
        many, get_context("spawn"), initializer=load_workload, initargs=(pack_workload(history),)
    )


LOADED: list[RecordedWorkload] = []


def load_workload(sent: tuple[Any, ...]) -> None:
    LOADED.append(unpack_workload(sent))


def replay_trial(trial: Trial) -> ReplayResult:
    return run_scenario(LOADED[0], trial.scenario, growth=trial.growth)


def sweep_with_processes(
    pool: ProcessPoolExecutor, trials: list[Trial], messages: int
) -> Measurement:
    began = time.monotonic()
    list(pool.map(replay_trial, [trials[place] for place in order_trials(trials)]))
    return Measurement(len(trials) * messages, time.monotonic() - began)


@contextmanager
def open_session(executors: int) -> Iterator[Any]:
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
