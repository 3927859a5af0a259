"""Computes all figures of a stretch of days: attempts are made once, and lie on the executors' disks meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from lonnymq.analytics.attempts import COMES_BACK, attempts, ends_are_few
from lonnymq.analytics.cache import kept
from lonnymq.analytics.registry import parts
from lonnymq.analytics.store import replace_days
from lonnymq.lake.dataframes import read_history
from lonnymq.lake.location import Lake

DAY = timedelta(days=1)


def compute(
    spark: SparkSession, lake: Lake, source: str, days: Sequence[date], also: Sequence[date] = ()
) -> None:
    """Compute and keep all figures of days that follow each other.

    `also` are days just before them, of which only the figures are computed that look around: attempts that were begun
    on them may have ended on the first of the others.
    """
    around = [*also, *days]
    made = attempts_of(spark, lake, source, around).drop("message_id", "source")
    rows = made.withColumn("source", F.lit(source))  # which need not be kept with each of them
    before = read_history(spark, lake, around[0] - DAY, around[0], source)
    begun_before = before.select(
        "source", "channel", F.unix_millis("dequeued_at").alias("dequeued_at")
    )
    with kept(made, level=StorageLevel.DISK_ONLY):
        own = rows.where(F.col("date").isin(list(days)))
        for part in parts():
            if part.looks_around:
                found = part.make(rows, before=begun_before).where(F.col("date").isin(around))
            else:
                found = part.make(own)
            touched = around if part.looks_around else days
            replace_days(found, lake, part.name, part.columns, source=source, days=touched)


def attempts_of(spark: SparkSession, lake: Lake, source: str, days: Sequence[date]) -> DataFrame:
    """The attempts that were begun or ended on these days, as far as they had ended a day later."""
    midnight = days[-1] + DAY
    history = read_history(spark, lake, days[0], midnight, source)
    later = read_history(spark, lake, midnight, midnight + DAY, source)
    later = later.where(F.col("dequeued_at") < F.lit(datetime.combine(midnight, time(), UTC)))
    earlier = read_history(spark, lake, days[0] - DAY, days[0], source)
    earlier = earlier.where(F.col("outcome").isin(*COMES_BACK))
    few = ends_are_few(history.unionByName(earlier))
    return attempts(history.unionByName(later), earlier=earlier, are_few=few)
