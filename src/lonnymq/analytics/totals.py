"""Sums of the hours: the backlog of all channels, the limits that were reached, and each tenant over a whole period."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from lonnymq.analytics.fairness import AT_LIMIT
from lonnymq.analytics.histogram import merged
from lonnymq.analytics.outcomes_hourly import OUTCOMES
from lonnymq.analytics.schemas import BACKLOG, LIMITS, TENANTS, TOTALS, shaped


def backlog(hours: DataFrame) -> DataFrame:
    """What came, waited and ran in each bucket, all channels together."""
    added = ("arrivals", "due", "begun", "ended", "waiting_after", "waiting_mean", "running_mean")
    found = hours.groupBy("source", "begins_at").agg(
        *(F.sum(each).alias(each) for each in added),
        F.count(F.when(F.col("waiting_after") > 0, 1)).alias("channels_waiting"),
    )
    return shaped(found, BACKLOG)


def limits(hours: DataFrame) -> DataFrame:
    """Channels that have a concurrency or rate limit, and for how many buckets they were at 90% of it or more.

    `waiting_meanwhile` is the mean of what waited in those buckets.
    """
    at_concurrency = F.col("concurrency_used") >= AT_LIMIT
    at_rate = F.col("rate_used") >= AT_LIMIT
    limited = hours.where("max_concurrency is not null or release_interval_ms is not null")
    found = limited.groupBy("source", "channel").agg(
        *(
            F.max_by(each, "begins_at").alias(each)
            for each in ("max_concurrency", "release_interval_ms", "burst")
        ),
        F.count("*").alias("hours"),
        F.count(F.when(at_concurrency, 1)).alias("hours_at_concurrency"),
        F.count(F.when(at_rate, 1)).alias("hours_at_rate"),
        F.max("concurrency_used").alias("concurrency_used_most"),
        F.max("rate_used").alias("rate_used_most"),
        F.avg(F.when(at_concurrency | at_rate, F.col("waiting_mean"))).alias("waiting_meanwhile"),
    )
    return shaped(found, LIMITS)


def tenants(hours: DataFrame, spreads: DataFrame) -> DataFrame:
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
    return shaped(found.join(merged(spreads, *keys), keys, "left"), TENANTS)


def totals(pulse: DataFrame) -> DataFrame:
    """Waits and service times of all channels together, in each bucket."""
    found = merged(pulse, "source", "begins_at")
    return shaped(found.withColumnRenamed("service_attempts", "attempts"), TOTALS)
