"""Histograms of waits and service times, which can be added over hours, days and tenants, unlike percentiles.

Values below 256 ms are exact. Longer values are rounded to the middle of a step of a 32nd of an octave, so that a
percentile of any sum is off by at most 1.3%.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from lonnymq.analytics.hourly_aggregates import QUANTILES
from lonnymq.analytics.schemas import HISTOGRAMS, HOURLY_HISTOGRAMS, select_declared
from lonnymq.analytics.time_buckets import HOUR_MS, bucket_start, to_timestamp

EXACT_BELOW = 256
STEPS = 32
MEASURES = {"waits": "wait_ms", "services": "service_ms"}


def compute_histograms(attempts: DataFrame) -> DataFrame:
    """The histograms of each channel and day."""
    return select_declared(count_by_step(attempts, "source", "date", "channel"), HISTOGRAMS)


def compute_hourly_histograms(attempts: DataFrame, *, every_ms: int = HOUR_MS) -> DataFrame:
    """The histograms of all channels together, by the bucket in which attempts ended."""
    placed = attempts.withColumn("begins", bucket_start(F.col("finished_at"), every_ms))
    found = count_by_step(placed, "source", "date", "begins")
    return select_declared(
        found.withColumn("begins_at", to_timestamp(F.col("begins"))), HOURLY_HISTOGRAMS
    )


def count_by_step(attempts: DataFrame, *keys: str) -> DataFrame:
    """Count values by step, for each group."""
    sides = [
        attempts.where(F.col(column).isNotNull())
        .groupBy(*keys, value_to_step(F.col(column)).alias("step"))
        .agg(F.count("*").alias("attempts"))
        .withColumn("measure", F.lit(measure))
        for measure, column in MEASURES.items()
    ]
    both = sides[0].unionByName(sides[1])
    pair = F.struct(step_to_value(F.col("step")).alias("value"), "attempts")
    return both.groupBy(*keys).agg(
        *(
            F.sort_array(F.collect_list(F.when(F.col("measure") == each, pair))).alias(each)
            for each in MEASURES
        )
    )


def value_to_step(value: Column) -> Column:
    """The step of a value: the value itself, or its number of 32nds of an octave above 1."""
    step = F.greatest(F.floor(F.log2(value) * STEPS), F.lit(EXACT_BELOW))
    return F.when(value < EXACT_BELOW, value).otherwise(step).cast("int")


def step_to_value(step: Column) -> Column:
    """The middle value of a step."""
    value = F.round(F.pow(F.lit(2.0), (step + 0.5) / STEPS))
    return F.when(step < EXACT_BELOW, step).otherwise(value).cast("long")


def merge_percentiles(spreads: DataFrame, *keys: str) -> DataFrame:
    """Percentiles of the summed histograms of a group, `wait_p50` to `service_p99`, and their attempts."""
    found = None
    for measure, short in (("waits", "wait"), ("services", "service")):
        one = compute_percentiles(spreads, measure, short, keys)
        found = one if found is None else found.join(one, list(keys), "full")
    assert found is not None  # noqa: S101 - there are two measures
    return found


def compute_percentiles(
    spreads: DataFrame, measure: str, short: str, keys: Sequence[str]
) -> DataFrame:
    """The percentiles of one measure."""
    each = spreads.select(*keys, F.explode(measure).alias("pair"))
    counts = each.groupBy(*keys, F.col("pair.value").alias("value")).agg(
        F.sum("pair.attempts").alias("attempts")
    )
    whole = Window.partitionBy(*keys)
    so_far = F.sum("attempts").over(whole.orderBy("value"))
    ranked = counts.withColumns({"so_far": so_far, "all": F.sum("attempts").over(whole)})
    return ranked.groupBy(*keys).agg(
        F.max("all").alias(f"{short}_attempts"),
        *(
            F.min(F.when(F.col("so_far") >= F.ceil(F.col("all") * part), F.col("value"))).alias(
                f"{short}_p{round(part * 100)}"
            )
            for part in QUANTILES
        ),
    )
