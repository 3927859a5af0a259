"""Whether those who waited were served alike: Jain's index in each bucket of time.

Compared are the channels of one source that had something waiting both when the bucket began and when it ended: a
channel that had little to do and got it done was not treated worse. Left out, and counted as `held`, are those that
their own settings held back: paused, or at 90% or more of their concurrency or rate limit. What counts is how many
attempts each was given, divided by its weight. 1 is all alike; 1/n is one of n had everything.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from lonnymq.analytics.schemas import FAIRNESS, NOISY_HOURS, NOISY_NEIGHBOURS, select_declared

AT_LIMIT = 0.9


def compute_fairness(hours: DataFrame) -> DataFrame:
    """Jain's index among the channels that competed; none where fewer than two did."""
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
    """Whether a channel's own settings held it back."""
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
    """Each channel that was ever noisy: for how many buckets, with which share of all work, and the quiet ones' wait in
    these buckets beside that in buckets without any noisy channel."""
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
    """Channels that had something to do, each with whether it was noisy."""
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
    """The split of each bucket."""
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
    """The median that is one of the values; the lower one of two."""
    return F.percentile_approx(column, 0.5, 10_000)
