"""Aggregates of attempts by channel and time bucket: the flow of attempts, and their outcomes with percentiles.

Flow. An attempt has four times: created, ready, begun, ended. Each counts in its bucket, with the rest of the bucket in
milliseconds. Sums over all days give backlog and running attempts at any bucket's edge, and their means, without
spreading an attempt over all buckets that it lasted. A row may belong to a bucket of a day before its own.

Outcomes. An attempt belongs to the bucket in which it ended, with its whole wait. Percentiles use the nearest rank:
`percentile_approx` with an accuracy of 10,000 is exact for up to 10,000 attempts, and off by at most one rank in 10,000
beyond.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from lonnymq.analytics.schemas import FLOW, OUTCOMES_HOURLY, select_declared
from lonnymq.analytics.time_buckets import HOUR_MS, bucket_start, to_timestamp

KEYS = ("source", "date", "channel")
MOMENTS = {
    "arrivals": "created_at",
    "due": "ready_at",
    "begun": "dequeued_at",
    "ended": "finished_at",
}
FINAL_OUTCOMES = ("completed", "dead")  # the message is gone with such an attempt
SUMS = ("arrivals", "due", "due_ms", "begun", "begun_ms", "ended", "ended_ms")


def compute_flow(attempts: DataFrame, *, every_ms: int = HOUR_MS) -> DataFrame:
    """Arrivals, and attempts that became due, began and ended, by channel and bucket.

    An arrival is a message that has since been completed or has died: each message has one such row.
    """
    together = attempts.select(
        *KEYS,
        F.col("outcome").isin(*FINAL_OUTCOMES).cast("long").alias("arrivals"),
        *(
            bucket_start(F.col(moment), every_ms).alias(f"{name}_in")
            for name, moment in MOMENTS.items()
        ),
        *(remaining_ms(moment, every_ms).alias(f"{name}_ms") for name, moment in MOMENTS.items()),
    ).groupBy(*KEYS, *(f"{name}_in" for name in MOMENTS))
    # Most attempts have all their moments in one bucket: these groups are few, and are taken apart as such.
    grouped = together.agg(
        F.count("*").alias("many"),
        F.sum("arrivals").alias("arrivals"),
        *(F.sum(f"{name}_ms").alias(f"{name}_ms") for name in ("due", "begun", "ended")),
    )
    events = grouped.select(*KEYS, F.explode(F.array(*map(make_event, MOMENTS))).alias("event"))
    counted = events.select(*KEYS, "event.*").groupBy(*KEYS, "begins")
    summed = counted.agg(*(F.sum(name).alias(name) for name in SUMS))
    there = summed.where(" or ".join(f"{name} > 0" for name in MOMENTS))
    return select_declared(there.withColumn("begins_at", to_timestamp(F.col("begins"))), FLOW)


def remaining_ms(moment: str, every_ms: int) -> Column:
    """How much of its bucket is left at a moment."""
    return F.lit(every_ms) - F.pmod(F.col(moment), F.lit(every_ms))


def make_event(name: str) -> Column:
    """One of the four moments of a group of attempts, as a row of sums."""
    own = {name: F.col("arrivals" if name == "arrivals" else "many")}
    if name != "arrivals":
        own[f"{name}_ms"] = F.col(f"{name}_ms")
    return F.struct(
        F.col(f"{name}_in").alias("begins"),
        *(own.get(each, F.lit(0)).cast("long").alias(each) for each in SUMS),
    )


OUTCOMES = ("completed", "deferred", "failed", "expired", "dead")
QUANTILES = (0.5, 0.95, 0.99)
ACCURACY = 10_000


def compute_outcomes(attempts: DataFrame, *, every_ms: int = HOUR_MS) -> DataFrame:
    """Outcomes and percentiles by channel and bucket."""
    begins = bucket_start(F.col("finished_at"), every_ms).alias("begins")
    groups = attempts.groupBy("source", "date", "channel", begins)
    found = groups.agg(
        F.count("*").alias("attempts"),
        *(count_if(F.col("outcome") == each).alias(each) for each in OUTCOMES),
        count_if(F.col("attempt") > 1).alias("retries"),
        F.sum(F.when(F.col("outcome").isin(*FINAL_OUTCOMES), F.col("attempt")).otherwise(0)).alias(
            "tries"
        ),
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
    return select_declared(
        found.withColumns({**named, "begins_at": to_timestamp(F.col("begins"))}), OUTCOMES_HOURLY
    )


def percentiles(column: str) -> Column:
    """The 50th, 95th and 99th of a column."""
    return F.percentile_approx(column, list(QUANTILES), ACCURACY)


def count_if(condition: Column) -> Column:
    """How many rows it holds for."""
    return F.count(F.when(condition, F.lit(1)))
