"""(m) Figures: computed from rows that Spark makes up, a fifth of them and all, then one more day, then the report;
with the memory that driver, executors and Python took together at most."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks.lane import Reading
from benchmarks.run import Run

SHAPE = "figures"
FIRST = datetime(2030, 1, 1, tzinfo=UTC)
DAYS = 30
TENANTS = 1_000
CORES = int(os.environ.get("LONNYMQ_BENCH_CORES", "2"))
MASTER = os.environ.get("LONNYMQ_BENCH_MASTER", f"local[{CORES}]")
HEAP = "3g"
GIB = 1 << 30


def run(run: Run) -> None:
    folder = Path(tempfile.mkdtemp(prefix="lonnymq-figures-"))
    try:
        with session(folder) as spark:
            warm_up(spark, folder / "warm")
            for rows in (run.rows // 5, run.rows):
                measure(run, spark, folder / str(rows), rows)
    finally:
        shutil.rmtree(folder)


def measure(run: Run, spark: Any, lake: Path, rows: int) -> None:
    """A lake of so many rows: its figures, those of a day more, the report."""
    from lonnymq.figures import refresh
    from lonnymq.lake import write_history
    from lonnymq.lake.place import lake_at
    from lonnymq.report import gather, page, period_of

    case = {"rows": rows, "days": DAYS, "tenants": TENANTS, "cores": CORES}

    def sample(what: str, count: int, unit: str, do: Callable[[], object]) -> None:
        run.sample(SHAPE, {"what": what, **case}, "lonnymq", unit, lambda: timed(count, do))

    def told(done: Any) -> None:
        run.say(f"{done.days[0]} to {done.days[-1]}: {done.rows:,} rows in {done.seconds:.0f} s")

    sample("rows into the lake", rows, "rows/s",
           lambda: write_history(made_up(spark, rows, DAYS, FIRST), lake, source="made up"))  # fmt: skip
    with watched() as memory:
        sample("all days", rows, "rows/s", lambda: refresh(spark, lake, tell=told))
    entry(run, "memory of all days", case, memory() / GIB)
    more = rows // DAYS
    write_history(made_up(spark, more, 1, FIRST + timedelta(days=DAYS)), lake, source="made up")
    with watched() as memory:
        sample("one new day", more, "rows/s", lambda: refresh(spark, lake, tell=told))
    entry(run, "memory of a day", case, memory() / GIB)
    period = period_of(spark, lake_at(lake), begin=FIRST, end=FIRST + timedelta(days=DAYS))
    made: list[str] = []
    with watched() as memory:
        sample("report", rows, "rows/s", lambda: made.append(page(gather(period))))
    entry(run, "memory of the report", case, memory() / GIB)
    run.say(f"the page has {len(made[0].encode()) / 1e6:.1f} MB")
    shutil.rmtree(lake)


def made_up(spark: Any, rows: int, days: int, begin: datetime) -> Any:
    """Rows of history without a past: tenants of which a few have most, waits and times of work with long tails."""
    from pyspark.sql import functions as F  # noqa: N812

    number = F.col("id")

    def lot(seed: int) -> Any:
        """A number from 0 to 1 that depends on the row alone."""
        return F.pmod(F.xxhash64(number, F.lit(seed)), F.lit(1_000_003)) / 1_000_003.0

    start = int(begin.timestamp() * 1000)
    created = F.lit(start) + (number * (days * 86_400_000.0 / rows)).cast("long")
    wait = F.least(F.lit(3_000_000), (-F.log(1 - lot(1)) * 400 * F.pow(1 + lot(2), 6)).cast("long"))
    work = (20 + -F.log(1 - lot(3)) * 90).cast("long")
    kind = lot(4)
    outcome = (
        F.when(kind < 0.96, "completed").when(kind < 0.98, "failed").when(kind < 0.99, "deferred")
        .when(kind < 0.997, "expired").otherwise("dead")
    )  # fmt: skip
    said = F.concat(F.lit("TimeoutError: no answer after "), (lot(7) * 90).cast("int"), F.lit(" s"))
    tenant = F.floor(TENANTS * F.pow(lot(5), 2)).cast("int")
    frame = spark.range(0, rows, 1, max(4, rows // 500_000)).select(
        (number + 1).alias("message_id"),
        (number + 1).alias("xid"),
        F.format_string("tenant-%04d", tenant).alias("channel"),
        F.lit("made").alias("kind"),
        F.lit(1).alias("attempt"),
        outcome.alias("outcome"),
        created.alias("dequeue_at"),
        created.alias("created"),
        (created + wait).alias("dequeued"),
        (created + wait + work).alias("finished"),
        (100 + lot(6) * 2000).cast("long").alias("size"),
        F.when(outcome.isin("failed", "dead"), said).alias("error"),
    )  # fmt: skip
    moments = {
        f"{name}_at": F.timestamp_millis(name) for name in ("created", "dequeued", "finished")
    }
    return frame.withColumns(moments).drop("created", "dequeued", "finished")


def timed(count: int, do: Callable[[], object]) -> Reading:
    started = time.perf_counter()
    do()
    return Reading(count, time.perf_counter() - started)


def entry(run: Run, what: str, case: dict[str, Any], gib: float) -> None:
    """What was the most memory, as a sample of its own."""
    run.sample(SHAPE, {"what": what, **case}, "lonnymq", "GiB", lambda: Reading(gib, 1.0))  # type: ignore[arg-type]
    run.say(f"{what}: {gib:.2f} GiB at most")


@contextmanager
def watched() -> Iterator[Callable[[], int]]:
    """Watches how much memory this process and its children have, shared pages counted once."""
    import psutil

    most, until = [0], threading.Event()

    def look() -> None:
        me = psutil.Process()
        while not until.wait(1.0):
            total = 0
            for each in (me, *me.children(recursive=True)):
                try:
                    total += each.memory_full_info().pss
                except psutil.Error:
                    continue
            most[0] = max(most[0], total)

    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    try:
        yield lambda: most[0]
    finally:
        until.set()
        watcher.join()


@contextmanager
def session(folder: Path) -> Iterator[Any]:
    import lonnymq.spark

    config = {
        "spark.ui.enabled": "false",
        "spark.driver.memory": HEAP,
        "spark.executor.memory": "1500m",
        "spark.sql.shuffle.partitions": "16",
        "spark.local.dir": str(folder / "spark"),
    }
    spark = lonnymq.spark.session(MASTER, app="lonnymq benchmark", config=config)
    spark.sparkContext.setLogLevel("ERROR")
    try:
        yield spark
    finally:
        spark.stop()


def warm_up(spark: Any, lake: Path) -> None:
    """The first of everything pays for Java and for Python's workers."""
    from lonnymq.figures import refresh
    from lonnymq.lake import write_history

    write_history(made_up(spark, 10_000, 2, FIRST), lake, source="made up")
    refresh(spark, lake, [date(2030, 1, 1)])
