"""Spark Connect: a session without a JVM of its own, so some answers come from the server by another way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lonnymq.errors import LonnyMQError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CONNECT_MODULE = "pyspark.sql.connect."


class NeedsClassicSpark(LonnyMQError):
    """Spark Connect cannot do this: use a session of `lonnymq.spark.session()`, or another way that the error names."""


def is_connect(spark: SparkSession) -> bool:
    """Whether a session talks to a Spark Connect server."""
    return type(spark).__module__.startswith(CONNECT_MODULE)


def count_slots(spark: SparkSession) -> int:
    """The number of tasks that the cluster runs at the same time, its default parallelism."""
    if not is_connect(spark):
        return int(spark.sparkContext.defaultParallelism)
    from pyspark.sql.functions import spark_partition_id

    return spark.range(1_000_000).select(spark_partition_id()).distinct().count()


def require_classic(spark: SparkSession, what: str, advice: str) -> None:
    """Raise for a session of Spark Connect."""
    if is_connect(spark):
        raise NeedsClassicSpark(f"{what} does not work with Spark Connect: {advice}")
