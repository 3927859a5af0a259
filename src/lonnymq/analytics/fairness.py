"""Fairness between channels: Jain's index of each time bucket, and noisy neighbours.

Jain's index compares the channels of a source with a backlog at the begin and at the end of the bucket. Channels held
back by their own settings count as `held` and are left out: paused, or at 90% or more of a limit. A channel's share is
its attempts divided by its weight. 1 means equal shares, 1/n that one of n channels got everything.

The work of a channel in a bucket is its backlog at the begin plus the attempts that became due. A channel is noisy if
its work is more than ten times that of the median channel (the lower one of two) and at least 5% of all work. The other
channels are quiet; their wait is the p95 wait of the median quiet channel.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from lonnymq.analytics.schemas import FAIRNESS, NOISY_HOURS, NOISY_NEIGHBOURS, select_declared

AT_LIMIT = 0.9


def compute_fairness(hours: DataFrame) -> DataFrame:
    """Jain's index over competing channels; null with fewer than two."""
    backlogged = hours.where((F.col("waiting_before") > 0) & (F.col("waiting_after") > 0))
    competes = ~is_limited()
    share = F.when(competes, F.col("begun") / F.coalesce("weight", F.lit(1)))
    rows = backlogged.select(
        "source", "begins_at", is_limited().alias("is_held"), share.alias("share")
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
    return select_declared(found.withColumn("jain", F.when(F.col("competing") > 1, even)), FAIRNESS)


def is_limited() -> Column:
    """Whether a channel was paused or at a limit."""
    at_limit = [
        F.coalesce(F.col(used) >= AT_LIMIT, F.lit(False))
        for used in ("concurrency_used", "rate_used")
    ]
    return F.coalesce("paused", F.lit(False)) | at_limit[0] | at_limit[1]


TIMES_MEDIAN = 10
MIN_SHARE = 0.05
BUCKET = ["source", "begins_at"]


def compute_noisy_hours(hours: DataFrame) -> DataFrame:
    """Noisy and quiet channels in each bucket."""
    return select_declared(sum_by_bucket(mark_noisy(hours)), NOISY_HOURS)


def compute_noisy_neighbours(hours: DataFrame) -> DataFrame:
    """Noisy channels: number of buckets, share of all work, and the wait of quiet channels then and otherwise."""
    marked = mark_noisy(hours)
    buckets = sum_by_bucket(marked)
    loud = marked.where("is_noisy").join(buckets.select(*BUCKET, "quiet_wait_p95"), BUCKET)
    still = buckets.where("noisy = 0").groupBy("source")
    otherwise = still.agg(median("quiet_wait_p95").alias("otherwise_wait_p95"))
    found = loud.groupBy("source", "channel").agg(
        F.count("*").alias("hours"),
        (F.sum("work") / F.sum("all_work")).alias("share"),
        F.max(F.col("work") / F.col("all_work")).alias("most_share"),
        median("quiet_wait_p95").alias("quiet_wait_p95"),
    )
    return select_declared(found.join(otherwise, ["source"], "left"), NOISY_NEIGHBOURS)


def mark_noisy(hours: DataFrame) -> DataFrame:
    """Channels with work in each bucket, and whether each was noisy."""
    work = F.col("waiting_before") + F.col("due")
    busy = hours.select(*BUCKET, "channel", "wait_p95", work.alias("work")).where("work > 0")
    usual = busy.groupBy(*BUCKET).agg(
        median("work").alias("median_work"), F.sum("work").alias("all_work")
    )
    is_noisy = (F.col("work") > TIMES_MEDIAN * F.col("median_work")) & (
        F.col("work") >= MIN_SHARE * F.col("all_work")
    )
    return busy.join(usual, BUCKET).withColumn("is_noisy", is_noisy)


def sum_by_bucket(marked: DataFrame) -> DataFrame:
    """Work and waits of noisy and of quiet channels in each bucket."""
    loud, quiet = F.col("is_noisy"), ~F.col("is_noisy")
    return marked.groupBy(*BUCKET).agg(
        F.count("*").alias("channels"),
        F.count(F.when(loud, 1)).alias("noisy"),
        F.coalesce(F.sum(F.when(loud, F.col("work"))), F.lit(0)).alias("noisy_work"),
        F.coalesce(F.sum(F.when(quiet, F.col("work"))), F.lit(0)).alias("quiet_work"),
        median(F.when(loud, F.col("wait_p95"))).alias("noisy_wait_p95"),
        median(F.when(quiet, F.col("wait_p95"))).alias("quiet_wait_p95"),
    )


def median(column: str | Column) -> Column:
    """The median; the lower one of two."""
    return F.percentile_approx(column, 0.5, 10_000)
