"""Whether those who waited were served alike: Jain's index in each bucket of time.

Compared are the channels of one source that had something waiting both when the bucket began and when it ended: a
channel that had little to do and got it done was not treated worse. Left out, and counted as `held`, are those that
their own settings held back: paused, or at 90% or more of their concurrency or rate limit. What counts is how many
attempts each was given, divided by its weight. 1 is all alike; 1/n is one of n had everything.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from lonnymq.analytics.schemas import FAIRNESS, shaped

AT_LIMIT = 0.9


def fairness(hours: DataFrame) -> DataFrame:
    """Jain's index among the channels that competed; none where fewer than two did."""
    backlogged = hours.where((F.col("waiting_before") > 0) & (F.col("waiting_after") > 0))
    competes = ~is_held()
    share = F.when(competes, F.col("begun") / F.coalesce("weight", F.lit(1)))
    rows = backlogged.select(
        "source", "begins_at", is_held().alias("is_held"), share.alias("share")
    )
    found = rows.groupBy("source", "begins_at").agg(
        F.count("*").alias("backlogged"),
        F.count(F.when(F.col("is_held"), 1)).alias("held"),
        F.count("share").alias("competing"),
        F.sum("share").alias("sum"),
        F.sum(F.col("share") * F.col("share")).alias("squares"),
        F.min("share").alias("least"),
        F.max("share").alias("most"),
    )
    even = F.when(F.col("squares") == 0, F.lit(1.0)).otherwise(
        F.col("sum") * F.col("sum") / (F.col("competing") * F.col("squares"))
    )
    return shaped(found.withColumn("jain", F.when(F.col("competing") > 1, even)), FAIRNESS)


def is_held() -> Column:
    """Whether a channel's own settings held it back."""
    at_limit = [
        F.coalesce(F.col(used) >= AT_LIMIT, F.lit(False))
        for used in ("concurrency_used", "rate_used")
    ]
    return F.coalesce("paused", F.lit(False)) | at_limit[0] | at_limit[1]
