"""Synthetic history of any size, made by Spark, and the session of the analytics scenario."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

FIRST = datetime(2030, 1, 1, tzinfo=UTC)
TENANTS = 1_000
CORES = int(os.environ.get("LONNYMQ_BENCH_CORES", "2"))
MASTER = os.environ.get("LONNYMQ_BENCH_MASTER", f"local[{CORES}]")
HEAP = "3g"
GIB = 1 << 30


def make_history(spark: Any, rows: int, days: int, begin: datetime) -> Any:
    """Rows of history without a past: tenants of which a few have most, waits and times of work with long tails."""
    from pyspark.sql import functions as F  # noqa: N812

    number = F.col("id")

    def draw(seed: int) -> Any:
        """A number from 0 to 1 that depends on the row alone."""
        return F.pmod(F.xxhash64(number, F.lit(seed)), F.lit(1_000_003)) / 1_000_003.0

    start = int(begin.timestamp() * 1000)
    created = F.lit(start) + (number * (days * 86_400_000.0 / rows)).cast("long")
    wait = F.least(
        F.lit(3_000_000), (-F.log(1 - draw(1)) * 400 * F.pow(1 + draw(2), 6)).cast("long")
    )
    work = (20 + -F.log(1 - draw(3)) * 90).cast("long")
    kind = draw(4)
    outcome = (
        F.when(kind < 0.96, "completed").when(kind < 0.98, "failed").when(kind < 0.99, "deferred")
        .when(kind < 0.997, "expired").otherwise("dead")
    )  # fmt: skip
    text = F.concat(
        F.lit("TimeoutError: no answer after "), (draw(7) * 90).cast("int"), F.lit(" s")
    )
    tenant = F.floor(TENANTS * F.pow(draw(5), 2)).cast("int")
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
        (100 + draw(6) * 2000).cast("long").alias("size"),
        F.when(outcome.isin("failed", "dead"), text).alias("error"),
    )  # fmt: skip
    moments = {
        f"{name}_at": F.timestamp_millis(name) for name in ("created", "dequeued", "finished")
    }
    return frame.withColumns(moments).drop("created", "dequeued", "finished")


@contextmanager
def watch_memory() -> Iterator[Callable[[], float]]:
    """Watches how much memory this process and its children have, shared pages counted once; says the most, in GiB."""
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
        yield lambda: most[0] / GIB
    finally:
        until.set()
        watcher.join()


@contextmanager
def open_session(
    folder: Path, master: str = MASTER, config: Mapping[str, object] | None = None
) -> Iterator[Any]:
    import lonnymq.spark

    usual = {
        "spark.ui.enabled": "false",
        "spark.driver.memory": HEAP,
        "spark.executor.memory": "1500m",
        "spark.sql.shuffle.partitions": "16",
        "spark.local.dir": str(folder / "spark"),
    }
    spark = lonnymq.spark.session(
        master, app="lonnymq benchmark", config={**usual, **(config or {})}
    )
    spark.sparkContext.setLogLevel("ERROR")
    try:
        yield spark
    finally:
        spark.stop()


def warm_up_spark(spark: Any, lake: Path) -> None:
    """The first of everything pays for Java and for Python's workers."""
    from lonnymq.analytics import refresh_analytics
    from lonnymq.lake import write_history

    write_history(make_history(spark, 10_000, 2, FIRST), lake, source="synthetic")
    refresh_analytics(spark, lake, [date(2030, 1, 1)])
