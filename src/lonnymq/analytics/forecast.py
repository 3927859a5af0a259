"""A linear forecast of the load, its error on past days, and the day on which the capacity is reached.

What became due on each whole day is laid on a line by least squares over the last 28 days. The line is tried on the
past: each of the last 14 days is forecast from the 28 days that ended a horizon before it, and the mean of the
differences, as parts of what came, is the error that is said. Capacity is what the busiest hours got done: the 95th
percentile of hours in which a channel had a backlog that its own limits do not explain, times 24; where no hour had
one, the best hour is a lower bound, and `is_capacity_seen` is false. Fewer than five whole days give no line.
"""

from __future__ import annotations

from datetime import datetime
from functools import reduce

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from lonnymq.analytics.channel_hours import is_limited
from lonnymq.analytics.columns import DAY_MS, FORECAST, bucket_start, select_declared

FITTED_DAYS = 28
MIN_DAYS = 5
HORIZONS = (1, 7)
BACKTEST_DAYS = 14
A_YEAR = 366


def compute_forecast(
    hours: DataFrame, *, since: datetime | None = None, until: datetime | None = None
) -> DataFrame:
    """The forecast for a day and for a week ahead, if there are enough days.

    Days that begin before `since` or end after `until` are not whole, and are left out.
    """
    daily = sum_by_day(hours, since=since, until=until)
    capacity = estimate_capacity(hours)
    found = (extrapolate(daily, horizon) for horizon in HORIZONS)
    both = reduce(DataFrame.unionByName, found).join(capacity, ["source"], "left")
    grows = (F.col("growth_a_day") > 0) & (F.col("capacity_a_day") > F.col("due_a_day"))
    days_left = F.ceil((F.col("capacity_a_day") - F.col("due_a_day")) / F.col("growth_a_day"))
    is_over = F.col("due_a_day") >= F.col("capacity_a_day")
    full = F.when(is_over, F.col("last_day")).when(
        grows & (days_left <= A_YEAR), F.date_add("last_day", days_left.cast("int"))
    )
    return select_declared(both.withColumn("full_on", full), FORECAST)


def sum_by_day(
    hours: DataFrame, *, since: datetime | None = None, until: datetime | None = None
) -> DataFrame:
    """Due attempts of each whole day, zero for days without work."""
    midnight = bucket_start(F.unix_millis("begins_at"), DAY_MS)
    if since is not None:
        hours = hours.where(midnight >= F.unix_millis(F.lit(since)))
    if until is not None:
        hours = hours.where(midnight + DAY_MS <= F.unix_millis(F.lit(until)))
    by_number = hours.groupBy("source", (midnight / DAY_MS).cast("int").alias("day"))
    days = by_number.agg(F.sum("due").alias("due"))
    ends = days.groupBy("source").agg(F.min("day").alias("first"), F.max("day").alias("last"))
    grid = ends.select("source", F.explode(F.sequence("first", "last")).alias("day"))
    filled = grid.join(days, ["source", "day"], "left")
    return filled.select("source", "day", F.coalesce("due", F.lit(0)).cast("double").alias("due"))


def extrapolate(daily: DataFrame, horizon: int) -> DataFrame:
    """Fit the line, extrapolate to the horizon, and test it on past days."""
    order = Window.partitionBy("source").orderBy("day")
    past = order.rowsBetween(-(FITTED_DAYS + horizon - 1), -horizon)
    now = order.rowsBetween(-(FITTED_DAYS - 1), 0)
    lines = daily.select(
        "source",
        "day",
        "due",
        (
            F.regr_intercept("due", "day").over(past)
            + F.regr_slope("due", "day").over(past) * F.col("day")
        ).alias("forecast"),
        F.count("*").over(past).alias("known"),
        F.regr_slope("due", "day").over(now).alias("slope"),
        F.regr_intercept("due", "day").over(now).alias("intercept"),
        F.row_number().over(Window.partitionBy("source").orderBy(F.desc("day"))).alias("place"),
        F.count("*").over(Window.partitionBy("source")).alias("days"),
    )
    was_tried = (
        (F.col("place") <= BACKTEST_DAYS)
        & (F.col("known") >= MIN_DAYS)
        & (F.col("due") > 0)
        & F.col("forecast").isNotNull()
    )
    off = F.abs(F.greatest(F.col("forecast"), F.lit(0.0)) - F.col("due")) / F.col("due")
    is_last = F.col("place") == 1
    enough = F.col("days") >= MIN_DAYS
    line = F.col("intercept") + F.col("slope") * F.col("day")
    return lines.groupBy("source").agg(
        F.max("days").alias("days"),
        F.lit(horizon).alias("horizon_days"),
        F.max(F.date_from_unix_date("day")).alias("last_day"),
        F.max(F.when(is_last & enough, line)).alias("due_a_day"),
        F.max(F.when(is_last & enough, F.col("slope"))).alias("growth_a_day"),
        F.max(
            F.when(is_last & enough, F.greatest(F.lit(0.0), line + F.col("slope") * horizon))
        ).alias("expected"),
        F.avg(F.when(was_tried, off)).alias("error"),
        F.count(F.when(was_tried, 1)).alias("tried"),
    )


def estimate_capacity(hours: DataFrame) -> DataFrame:
    """The daily capacity: from the busiest hours with a backlog, else from the best hour."""
    free = ~is_limited()
    all_channels = hours.groupBy("source", "begins_at").agg(
        F.sum("ended").alias("ended"),
        F.sum(F.when(free, F.col("waiting_before"))).alias("before"),
        F.sum(F.when(free, F.col("waiting_after"))).alias("after"),
    )
    is_busy = (F.col("before") > 0) & (F.col("after") > 0)
    hour = F.percentile_approx(F.when(is_busy, F.col("ended")), 0.95, 10_000)
    return all_channels.groupBy("source").agg(
        (24.0 * F.coalesce(hour, F.max("ended"))).alias("capacity_a_day"),
        (F.count(F.when(is_busy, 1)) > 0).alias("is_capacity_seen"),
    )
