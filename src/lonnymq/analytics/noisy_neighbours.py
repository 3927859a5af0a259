"""Noisy neighbours: channels that had far more to do than the others, and how the others fared meanwhile.

What a channel had to do in a bucket of time is what waited when it began and what became due in it. It was noisy if
that was more than ten times what the median channel had (of those with anything to do; the lower one of two) and at
least a twentieth of everything. The others are quiet; how they fared is the p95 wait of the median one of them.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from lonnymq.analytics.schemas import NOISE, NOISY, shaped

TIMES_MEDIAN = 10
LEAST_SHARE = 0.05
BUCKET = ["source", "begins_at"]


def noise(hours: DataFrame) -> DataFrame:
    """Noisy and quiet channels in each bucket."""
    return shaped(by_bucket(with_noise(hours)), NOISE)


def noisy(hours: DataFrame) -> DataFrame:
    """Each channel that was ever noisy: for how many buckets, with which share of all work, and the quiet ones' wait in
    these buckets beside that in buckets without any noisy channel."""
    marked = with_noise(hours)
    buckets = by_bucket(marked)
    loud = marked.where("is_noisy").join(buckets.select(*BUCKET, "quiet_wait_p95"), BUCKET)
    still = buckets.where("noisy = 0").groupBy("source")
    otherwise = still.agg(median("quiet_wait_p95").alias("otherwise_wait_p95"))
    found = loud.groupBy("source", "channel").agg(
        F.count("*").alias("hours"),
        (F.sum("work") / F.sum("all_work")).alias("share"),
        F.max(F.col("work") / F.col("all_work")).alias("most_share"),
        median("quiet_wait_p95").alias("quiet_wait_p95"),
    )
    return shaped(found.join(otherwise, ["source"], "left"), NOISY)


def with_noise(hours: DataFrame) -> DataFrame:
    """Channels that had something to do, each with whether it was noisy."""
    work = F.col("waiting_before") + F.col("due")
    busy = hours.select(*BUCKET, "channel", "wait_p95", work.alias("work")).where("work > 0")
    usual = busy.groupBy(*BUCKET).agg(
        median("work").alias("median_work"), F.sum("work").alias("all_work")
    )
    is_noisy = (F.col("work") > TIMES_MEDIAN * F.col("median_work")) & (
        F.col("work") >= LEAST_SHARE * F.col("all_work")
    )
    return busy.join(usual, BUCKET).withColumn("is_noisy", is_noisy)


def by_bucket(marked: DataFrame) -> DataFrame:
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
