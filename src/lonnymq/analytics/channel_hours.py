"""Statistics of each channel and time bucket, and their sums: backlog, limit usage, tenants and totals.

Channel settings change over time: each row of `channels` is valid until the next row of its channel.
"""

from __future__ import annotations

from datetime import datetime

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from lonnymq.analytics import columns
from lonnymq.analytics.aggregates import OUTCOMES, SUMS, merge_percentiles
from lonnymq.analytics.columns import HOUR_MS, bucket_start, select_declared

AT_LIMIT = 0.9
KEYS = ["source", "channel", "begins_at"]
RATES = {"defer": "deferred", "fail": "failed", "expire": "expired", "dead": "dead"}
SETTINGS = ("max_concurrency", "min_interval_ms", "burst", "weight", "paused")
FOREVER = 1 << 62
CHANNELS = """
  source string, channel string, taken_at timestamp, max_concurrency int, min_interval_ms long, burst int,
  max_size long, when_full string, weight int, max_attempts int, paused boolean
"""


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
            **{f"{rate}_rate": divide(F.col(name), F.col("ended")) for rate, name in RATES.items()},
            "concurrency_used": F.col("running_ms") / (F.col("max_concurrency") * every_ms),
            "rate_used": F.col("begun") * F.col("min_interval_ms") / every_ms,
        }
    )
    return select_declared(found, columns.CHANNEL_HOURS)


def divide(above: Column, below: Column) -> Column:
    """A quotient; null if the divisor is not positive."""
    return F.when(below > 0, above / below)


def compute_levels(
    flow: DataFrame, *, begin: datetime, end: datetime, every_ms: int = HOUR_MS
) -> DataFrame:
    """Backlog and running attempts at the edges of each bucket and on average, by channel.

    Buckets without events are included while messages wait or run.
    """
    first = bucket_start(F.unix_millis(F.lit(begin)), every_ms)
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
    filled = rows.select("*", F.explode(buckets_without_events(every_ms)).alias("bucket"))
    is_own = F.col("bucket") == F.col("begins")
    found = filled.select(
        "source",
        "channel",
        F.timestamp_millis("bucket").alias("begins_at"),
        *(F.when(is_own, F.col(each)).otherwise(0).alias(each) for each in SUMS),
        "waiting_after",
        (F.col("waiting_after") - F.when(is_own, F.col("due") - F.col("begun")).otherwise(0)).alias(
            "waiting_before"
        ),
        (
            F.col("running_after") - F.when(is_own, F.col("begun") - F.col("ended")).otherwise(0)
        ).alias("running_before"),
        F.col("bucket"),
    ).where((F.col("bucket") >= first) & (F.col("bucket") < F.unix_millis(F.lit(end))))
    waiting = F.col("waiting_before") * every_ms + F.col("due_ms") - F.col("begun_ms")
    running = F.col("running_before") * every_ms + F.col("begun_ms") - F.col("ended_ms")
    return found.withColumns({"waiting_ms": waiting, "running_ms": running}).drop("bucket")


def buckets_without_events(every_ms: int) -> Column:
    """A bucket and the following buckets without events, while messages wait or run."""
    stands = (F.col("waiting_after") > 0) | (F.col("running_after") > 0)
    has_gap = F.col("next") > F.col("begins") + every_ms
    return F.when(
        stands & has_gap,
        F.sequence(F.col("begins"), F.col("next") - every_ms, F.lit(every_ms).cast("long")),
    ).otherwise(F.array("begins"))


def compute_backlog(hours: DataFrame) -> DataFrame:
    """Arrivals, backlog and running attempts of all channels in each bucket."""
    added = ("arrivals", "due", "begun", "ended", "waiting_after", "waiting_mean", "running_mean")
    found = hours.groupBy("source", "begins_at").agg(
        *(F.sum(each).alias(each) for each in added),
        F.count(F.when(F.col("waiting_after") > 0, 1)).alias("channels_waiting"),
    )
    return select_declared(found, columns.BACKLOG)


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
    return select_declared(found, columns.LIMITS)


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
    return select_declared(
        found.join(merge_percentiles(spreads, *keys), keys, "left"), columns.TENANTS
    )


def compute_totals(pulse: DataFrame) -> DataFrame:
    """Waits and service times of all channels together, in each bucket."""
    found = merge_percentiles(pulse, "source", "begins_at")
    return select_declared(found.withColumnRenamed("service_attempts", "attempts"), columns.TOTALS)


def join_settings(frame: DataFrame, channels: DataFrame) -> DataFrame:
    """A frame with `source`, `channel` and `begins_at`, and what was in force at each `begins_at`.

    The channel '' has the queue's defaults: no channel can have this name.

    The first row that is known of a channel stands for the time before it too; a channel without one has the queue's
    defaults; without those nothing is known, and nothing is said.
    """
    known, at = settings_intervals(channels), "unix_millis(frame.begins_at)"
    own, default = known.where("channel <> ''"), known.where("channel = ''")
    is_own = f"own.channel = frame.channel and {at} >= own.since and {at} < own.until"
    is_default = f"{at} >= default.since and {at} < default.until"
    found = frame.alias("frame").join(
        own.alias("own"), F.expr(f"own.source = frame.source and {is_own}"), "left"
    )
    found = found.join(
        default.alias("default"), F.expr(f"default.source = frame.source and {is_default}"), "left"
    )
    has_own = F.col("own.channel").isNotNull()
    chosen = (
        F.when(has_own, F.col(f"own.{each}")).otherwise(F.col(f"default.{each}")).alias(each)
        for each in SETTINGS
    )
    return found.select("frame.*", *chosen)


def settings_intervals(channels: DataFrame) -> DataFrame:
    """Each row of settings with the interval in which it is valid."""
    taken = F.unix_millis("taken_at")
    rows = channels.select("source", "channel", taken.alias("at"), *SETTINGS)
    order = Window.partitionBy("source", "channel").orderBy("at")
    return rows.withColumns(
        {
            "since": F.when(F.lag("at").over(order).isNotNull(), F.col("at")).otherwise(-FOREVER),
            "until": F.coalesce(F.lead("at").over(order), F.lit(FOREVER)),
        }
    )


def is_limited() -> Column:
    """Whether a channel was paused or at a limit."""
    at_limit = [
        F.coalesce(F.col(used) >= AT_LIMIT, F.lit(False))
        for used in ("concurrency_used", "rate_used")
    ]
    return F.coalesce("paused", F.lit(False)) | at_limit[0] | at_limit[1]
