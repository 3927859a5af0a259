"""Statistics of each channel and time bucket, and their sums: backlog, limit usage, tenants and totals."""

from __future__ import annotations

from datetime import datetime

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from lonnymq.analytics.channel_settings import join_settings
from lonnymq.analytics.fairness import AT_LIMIT
from lonnymq.analytics.histogram import merge_percentiles
from lonnymq.analytics.hourly_aggregates import OUTCOMES, SUMS
from lonnymq.analytics.schemas import (
    BACKLOG,
    CHANNEL_HOURS,
    LIMITS,
    TENANTS,
    TOTALS,
    select_declared,
)
from lonnymq.analytics.time_buckets import HOUR_MS, bucket_start, to_timestamp

KEYS = ["source", "channel", "begins_at"]
RATES = {
    "defer_rate": "deferred",
    "fail_rate": "failed",
    "expire_rate": "expired",
    "dead_rate": "dead",
}


def compute_channel_hours(
    flow: DataFrame,
    hourly: DataFrame,
    channels: DataFrame,
    *,
    begin: datetime,
    end: datetime,
    every_ms: int = HOUR_MS,
) -> DataFrame:
    """Every bucket from `begin` to `end` in which a channel had anything to do.

    `flow` and `hourly` may be finer than `every_ms` only if they are equal to it; they are of all days from that of
    `begin` on: an attempt that ended before had nothing waiting or running since.
    """
    levels = compute_levels(flow, begin=begin, end=end, every_ms=every_ms)
    ended = hourly.drop("date", "attempts")
    found = join_settings(levels.join(ended, KEYS, "left"), channels)
    counts = {each: F.coalesce(each, F.lit(0)) for each in (*OUTCOMES, "retries", "tries", "size")}
    gone = F.col("completed") + F.col("dead")
    found = found.withColumns(counts).withColumns(
        {
            "waiting_mean": F.col("waiting_ms") / every_ms,
            "running_mean": F.col("running_ms") / every_ms,
            "tries_mean": divide(F.col("tries"), gone),
            "wait_mean": divide(F.col("wait_ms"), F.col("waits")),
            "service_mean": divide(F.col("service_ms"), F.col("ended")),
            **{rate: divide(F.col(name), F.col("ended")) for rate, name in RATES.items()},
            "concurrency_used": F.col("running_ms") / (F.col("max_concurrency") * every_ms),
            "rate_used": F.col("begun") * F.col("min_interval_ms") / every_ms,
        }
    )
    return select_declared(found, CHANNEL_HOURS)


def divide(above: Column, below: Column) -> Column:
    """A quotient; null if the divisor is not positive."""
    return F.when(below > 0, above / below)


def compute_levels(
    flow: DataFrame, *, begin: datetime, end: datetime, every_ms: int = HOUR_MS
) -> DataFrame:
    """Backlog and running attempts at the edges of each bucket and on average, by channel.

    Buckets without events are included while messages wait or run.
    """
    first = bucket_start(F.lit(epoch_ms(begin)), every_ms)
    at = F.unix_millis("begins_at")
    # Everything earlier is one bucket just before the first.
    placed = flow.withColumn("begins", F.greatest(bucket_start(at, every_ms), first - every_ms))
    summed = placed.groupBy("source", "channel", "begins").agg(
        *(F.sum(each).alias(each) for each in SUMS)
    )
    order = Window.partitionBy("source", "channel").orderBy("begins")
    rows = summed.withColumns(
        {
            "waiting_after": F.sum(F.col("due") - F.col("begun")).over(order),
            "running_after": F.sum(F.col("begun") - F.col("ended")).over(order),
            "next": F.lead("begins").over(order),
        }
    )
    filled = rows.select("*", F.explode(quiet_buckets(every_ms)).alias("bucket"))
    is_own = F.col("bucket") == F.col("begins")
    found = filled.select(
        "source",
        "channel",
        to_timestamp(F.col("bucket")).alias("begins_at"),
        *(F.when(is_own, F.col(each)).otherwise(0).alias(each) for each in SUMS),
        "waiting_after",
        (F.col("waiting_after") - F.when(is_own, F.col("due") - F.col("begun")).otherwise(0)).alias(
            "waiting_before"
        ),
        (
            F.col("running_after") - F.when(is_own, F.col("begun") - F.col("ended")).otherwise(0)
        ).alias("running_before"),
        F.col("bucket"),
    ).where((F.col("bucket") >= first) & (F.col("bucket") < F.lit(epoch_ms(end))))
    waiting = F.col("waiting_before") * every_ms + F.col("due_ms") - F.col("begun_ms")
    running = F.col("running_before") * every_ms + F.col("begun_ms") - F.col("ended_ms")
    return found.withColumns({"waiting_ms": waiting, "running_ms": running}).drop("bucket")


def quiet_buckets(every_ms: int) -> Column:
    """A bucket and the following buckets without events, while messages wait or run."""
    stands = (F.col("waiting_after") > 0) | (F.col("running_after") > 0)
    has_gap = F.col("next") > F.col("begins") + every_ms
    return F.when(
        stands & has_gap,
        F.sequence(F.col("begins"), F.col("next") - every_ms, F.lit(every_ms).cast("long")),
    ).otherwise(F.array("begins"))


def epoch_ms(moment: datetime) -> int:
    """A moment with its zone, in epoch milliseconds."""
    return round(moment.timestamp() * 1000)


def compute_backlog(hours: DataFrame) -> DataFrame:
    """Arrivals, backlog and running attempts of all channels in each bucket."""
    added = ("arrivals", "due", "begun", "ended", "waiting_after", "waiting_mean", "running_mean")
    found = hours.groupBy("source", "begins_at").agg(
        *(F.sum(each).alias(each) for each in added),
        F.count(F.when(F.col("waiting_after") > 0, 1)).alias("channels_waiting"),
    )
    return select_declared(found, BACKLOG)


def compute_limit_usage(hours: DataFrame) -> DataFrame:
    """Channels that have a concurrency or rate limit, and for how many buckets they were at 90% of it or more.

    `waiting_meanwhile` is the mean of what waited in those buckets.
    """
    at_concurrency = F.col("concurrency_used") >= AT_LIMIT
    at_rate = F.col("rate_used") >= AT_LIMIT
    limited = hours.where("max_concurrency is not null or min_interval_ms is not null")
    found = limited.groupBy("source", "channel").agg(
        *(
            F.max_by(each, "begins_at").alias(each)
            for each in ("max_concurrency", "min_interval_ms", "burst")
        ),
        F.count("*").alias("hours"),
        F.count(F.when(at_concurrency, 1)).alias("hours_at_concurrency"),
        F.count(F.when(at_rate, 1)).alias("hours_at_rate"),
        F.max("concurrency_used").alias("concurrency_used_most"),
        F.max("rate_used").alias("rate_used_most"),
        F.avg(F.when(at_concurrency | at_rate, F.col("waiting_mean"))).alias("waiting_meanwhile"),
    )
    return select_declared(found, LIMITS)


def compute_tenants(hours: DataFrame, spreads: DataFrame) -> DataFrame:
    """Each channel over the whole period: counts from its hours, percentiles from its spreads."""
    added = ("arrivals", *OUTCOMES, "retries", "size")
    found = hours.groupBy("source", "channel").agg(
        F.sum("ended").alias("attempts"),
        *(F.sum(each).alias(each) for each in added),
        *(F.max(each).alias(each) for each in ("wait_most", "service_most")),
        *(F.avg(each).alias(each) for each in ("waiting_mean", "running_mean")),
        F.max("waiting_after").alias("waiting_most"),
        F.max("concurrency_used").alias("concurrency_used_most"),
        F.max("rate_used").alias("rate_used_most"),
    )
    keys = ["source", "channel"]
    return select_declared(found.join(merge_percentiles(spreads, *keys), keys, "left"), TENANTS)


def compute_totals(pulse: DataFrame) -> DataFrame:
    """Waits and service times of all channels together, in each bucket."""
    found = merge_percentiles(pulse, "source", "begins_at")
    return select_declared(found.withColumnRenamed("service_attempts", "attempts"), TOTALS)
