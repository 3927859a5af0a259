"""What `lonnymq simulate` has Spark do: try scenarios side by side, and make history up by the million."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from lonnymq.cli.commands.spark_worker import started

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lonnymq.simulate import RecordedWorkload, ReplayResult, Trial, WorkloadShape

HERE = "local[*]"
QUIET = ("spark.ui.enabled=false", "spark.log.level=ERROR")


@dataclass(frozen=True, slots=True)
class Place:
    """Where Spark runs, and with which settings; without a master it is for us to say."""

    master: str | None = None
    conf: Sequence[str] = ()

    @contextmanager
    def session(self) -> Iterator[SparkSession]:
        """The session that runs; else one of our own, which has the library on its executors and ends with us."""
        from pyspark.sql import SparkSession

        is_there = SparkSession.getActiveSession() is not None
        conf = [*QUIET, *self.conf]
        spark = started(self.master or HERE, conf, is_shipped=True, app="lonnymq simulate")
        try:
            yield spark
        finally:
            if not is_there:
                spark.stop()


def is_there() -> bool:
    """Whether this machine has what a Spark needs."""
    if find_spec("pyspark") is None or find_spec("pyarrow") is None:
        return False
    from lonnymq.spark.java import JavaMissing, find_java

    try:
        find_java()
    except JavaMissing:
        return False
    return True


def sweep_at(
    place: Place, history: RecordedWorkload, asked: Sequence[Trial], seed: int, *, on_progress: Any
) -> list[ReplayResult]:
    """Try everything on Spark."""
    from lonnymq.simulate.sweep import run_trials_on_spark

    with place.session() as spark:
        return run_trials_on_spark(spark, history, asked, seed=seed, on_progress=on_progress)


def write_days(
    at: Place, shape: WorkloadShape, days: int, lake: str, source: str, storage: dict[str, str]
) -> int:
    """Write so many days of history, which Spark makes up and nobody replays; how many attempts that are."""
    from lonnymq.lake import write_history
    from lonnymq.simulate.lake_writer import create_source
    from lonnymq.simulate.spark_history import generate_spark_history

    place, name = create_source(lake, source, storage)
    with at.session() as spark:
        frame = generate_spark_history(
            spark, shape.messages, tenants=shape.tenants, days=days, seed=shape.seed
        )
        return write_history(frame, place, source=name)
