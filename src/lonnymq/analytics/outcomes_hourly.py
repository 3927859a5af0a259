"""What became of the attempts that ended in a bucket of time: outcomes, percentiles of waits, service and sizes.

An attempt belongs to the bucket that it ended in, with all of its wait. Percentiles are of the nearest rank, each a
value that was; `percentile_approx` with an accuracy of 10,000 makes them exact for up to 10,000 attempts in a bucket,
and beyond that off by at most one rank in 10,000.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from lonnymq.analytics.flow import LAST
from lonnymq.analytics.schemas import HOURLY, shaped
from lonnymq.analytics.time_buckets import HOUR_MS, bucket, instant

OUTCOMES = ("completed", "deferred", "failed", "expired", "dead")
PARTS = (0.5, 0.95, 0.99)
ACCURACY = 10_000


def hourly(attempts: DataFrame, *, every_ms: int = HOUR_MS) -> DataFrame:
    """Outcomes and percentiles by channel and bucket."""
    begins = bucket(F.col("finished_at"), every_ms).alias("begins")
    groups = attempts.groupBy("source", "date", "channel", begins)
    found = groups.agg(
        F.count("*").alias("attempts"),
        *(count_if(F.col("outcome") == each).alias(each) for each in OUTCOMES),
        count_if(F.col("attempt") > 1).alias("retries"),
        F.sum(F.when(F.col("outcome").isin(*LAST), F.col("attempt")).otherwise(0)).alias("tries"),
        F.count("wait_ms").alias("waits"),
        F.sum("wait_ms").alias("wait_ms"),
        F.max("wait_ms").alias("wait_most"),
        percentiles("wait_ms").alias("wait"),
        F.sum("service_ms").alias("service_ms"),
        F.max("service_ms").alias("service_most"),
        percentiles("service_ms").alias("service"),
        F.sum("size").alias("size"),
        F.max("size").alias("size_most"),
        percentiles("size").alias("sizes"),
    )
    named = {
        f"{short}_{part}": F.get(column, F.lit(place))
        for short, column in (("wait", "wait"), ("service", "service"), ("size", "sizes"))
        for place, part in enumerate(("p50", "p95", "p99"))
    }
    return shaped(found.withColumns({**named, "begins_at": instant(F.col("begins"))}), HOURLY)


def percentiles(column: str) -> Column:
    """The 50th, 95th and 99th of a column."""
    return F.percentile_approx(column, list(PARTS), ACCURACY)


def count_if(condition: Column) -> Column:
    """How many rows it holds for."""
    return F.count(F.when(condition, F.lit(1)))
