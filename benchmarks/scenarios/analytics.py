"""(m) Analytics: computed from rows that Spark makes up. Some of them on a cluster of one core and of two; then a fifth
of them and all, a day more, days apart, the report; and the memory that driver, executors and Python took at most."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.entrant import Measurement, time_call
from benchmarks.goals import OURS
from benchmarks.run import Run
from benchmarks.scenarios.analytics_cluster import ROWS as CLUSTER_ROWS
from benchmarks.scenarios.analytics_cluster import measure_on_cluster
from benchmarks.synthetic_history import (
    FIRST,
    make_history,
    open_session,
    warm_up_spark,
    watch_memory,
)

SCENARIO = "analytics"
DAYS = 30
DAY_SAMPLES = 3
CORES = {"one core": 1, "two cores": 2}


def run(run: Run) -> None:
    folder = Path(tempfile.mkdtemp(prefix="lonnymq-figures-"))
    try:
        measure_clusters(run, folder)
        with open_session(folder) as spark:
            warm_up_spark(spark, folder / "warm")
            for part, rows in (("a fifth", run.rows // 5), ("all", run.rows)):
                AnalyticsBenchmark(run, spark, folder / part.replace(" ", "-"), part, rows).measure(
                    run.rows // (5 * DAYS)
                )
    finally:
        shutil.rmtree(folder)


def measure_clusters(run: Run, folder: Path) -> None:
    """Rows on a standalone cluster, with one executor of one core and with two."""
    rows = min(CLUSTER_ROWS, run.rows)
    for results, cores in CORES.items():
        run.log(f"{rows:,} rows on a standalone cluster, with {results}")
        case = {"what": "on a cluster", "on": results}
        with watch_memory() as memory:
            take = partial(measure_on_cluster, folder, cores, rows)
            run.sample(SCENARIO, case, OURS, "rows/s", take)
        record_memory(run, "memory: on a cluster", {"on": results}, memory())


@dataclass
class AnalyticsBenchmark:
    """A lake with a part of the rows: its figures, those of days that are added, the report."""

    run: Run
    spark: Any
    lake: Path
    part: str
    rows: int

    def measure(self, small_day: int) -> None:
        self.write_rows(self.rows, DAYS, 0)
        whole = self.refresh("all days", self.rows)
        day = self.rows // DAYS
        self.write_rows(day, 1, DAYS)
        one = self.refresh("one new day", day)
        self.run.log(
            f"one new day has {day / self.rows:.1%} as many rows as all days, and took {one / whole:.1%} of their time"
        )
        # Days apart, of as many rows in either lake: what they cost must not depend on the lake.
        sizes = {"a small day": small_day}
        if self.part == "all":
            sizes["a day of five times the rows"] = 5 * small_day
        for number, (what, rows) in enumerate(sizes.items(), 1):
            self.write_rows(rows, 1, DAYS + 10 * number)
            for _ in range(DAY_SAMPLES):
                self.refresh(what, rows, [(FIRST + timedelta(DAYS + 10 * number)).date()])
        if self.part == "all":
            self.measure_report()
        shutil.rmtree(self.lake)

    def write_rows(self, rows: int, days: int, since: int) -> None:
        """Rows into the lake, over so many days."""
        from lonnymq.lake import write_history

        frame = make_history(self.spark, rows, days, FIRST + timedelta(days=since))
        began = time.perf_counter()
        write_history(frame, self.lake, source="synthetic")
        self.run.log(f"{rows:,} rows into the lake in {time.perf_counter() - began:.0f} s")

    def refresh(self, what: str, rows: int, dates: list[date] | None = None) -> float:
        from lonnymq.analytics import refresh_analytics

        return self.sample(
            what,
            rows,
            lambda: refresh_analytics(self.spark, self.lake, dates, on_progress=self.log_progress),
        )

    def log_progress(self, done: Any) -> None:
        self.run.log(
            f"{done.days[0]} to {done.days[-1]}: {done.rows:,} rows in {done.seconds:.0f} s"
        )

    def measure_report(self) -> None:
        from lonnymq.lake.location import resolve_lake
        from lonnymq.report import build_document, load_period, render_page

        period = load_period(
            self.spark, resolve_lake(self.lake), begin=FIRST, end=FIRST + timedelta(days=DAYS)
        )
        made: list[str] = []
        self.sample("report", self.rows, lambda: made.append(render_page(build_document(period))))
        self.run.log(f"the page has {len(made[0].encode()) / 1e6:.1f} MB")

    def sample(self, what: str, count: int, do: Callable[[], object]) -> float:
        """How many rows a second, and the most memory meanwhile; says how long it took."""
        taken = []

        def take() -> Measurement:
            taken.append(time_call(count, do))
            return taken[0]

        with watch_memory() as memory:
            self.run.sample(SCENARIO, {"what": what, "rows": self.part}, OURS, "rows/s", take)
        record_memory(self.run, f"memory: {what}", {"rows": self.part}, memory())
        return taken[0].seconds


def record_memory(run: Run, what: str, case: dict[str, Any], gib: float) -> None:
    """What was the most memory, as a sample of its own."""
    found = run.record.entry(SCENARIO, {"what": what, **case}, OURS, "GiB")
    found.samples.append(round(gib, 2))
    run.log(f"{what}: {gib:.2f} GiB at most")
