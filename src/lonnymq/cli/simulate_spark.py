"""What `lonnymq simulate` has Spark do: try scenarios side by side, and make history up by the million."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lonnymq.simulate import Answer, Recorded, Shape, Trial

HERE = "local[*]"
CONFIG = {"spark.ui.enabled": "false", "spark.log.level": "ERROR"}


@contextmanager
def spark_at(master: str) -> Iterator[SparkSession]:
    """The session that runs; else one of our own, which has the library on its executors and ends with us."""
    from pyspark.sql import SparkSession

    from lonnymq.spark import session, ship

    running = SparkSession.getActiveSession()
    spark = running or session(master, app="lonnymq simulate", config=CONFIG)
    try:
        if not str(spark.sparkContext.master).startswith("local"):
            ship(spark)
        yield spark
    finally:
        if running is None:
            spark.stop()


def sweep_at(
    master: str, history: Recorded, asked: Sequence[Trial], seed: int, *, tell: Any
) -> list[Answer]:
    """Try everything on Spark."""
    from lonnymq.simulate.on_spark import sweep_on_spark

    with spark_at(master) as spark:
        return sweep_on_spark(spark, history, asked, seed=seed, tell=tell)


def write_days(
    master: str, shape: Shape, days: int, lake: str, source: str, storage: dict[str, str]
) -> int:
    """Write so many days of history, which Spark makes up and nobody replays; how many attempts that are."""
    from lonnymq.lake import write_history
    from lonnymq.simulate.at_scale import history_at_scale
    from lonnymq.simulate.into_lake import new_source

    place, name = new_source(lake, source, storage)
    with spark_at(master) as spark:
        frame = history_at_scale(
            spark, shape.messages, tenants=shape.tenants, days=days, seed=shape.seed
        )
        return write_history(frame, place, source=name)
