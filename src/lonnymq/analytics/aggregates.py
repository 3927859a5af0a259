"""Aggregates of attempts that a lake stores: flow, outcomes, histograms of waits and service times, error groups.

Flow. An attempt has four times: created, ready, begun, ended. Each counts in its bucket, with the rest of the bucket in
milliseconds. Sums over all days give backlog and running attempts at any bucket's edge, and their means, without
spreading an attempt over all buckets that it lasted. A row may belong to a bucket of a day before its own.

Outcomes. An attempt belongs to the bucket in which it ended, with its whole wait. Percentiles use the nearest rank:
`percentile_approx` with an accuracy of 10,000 is exact for up to 10,000 attempts, and off by at most one rank in 10,000
beyond.

Histograms can be added over hours, days and tenants, unlike percentiles. Values below 256 ms are exact. Longer values
are rounded to the middle of a step of a 32nd of an octave, so that a percentile of any sum is off by at most 1.3%.

Error groups. Numbers, ids and addresses are replaced before similar errors are counted.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from lonnymq.analytics import columns
from lonnymq.analytics.columns import HOUR_MS, bucket_start, select_declared

KEYS = ("source", "date", "channel")
MOMENTS = {
    "arrivals": "created_at",
    "due": "ready_at",
    "begun": "dequeued_at",
    "ended": "finished_at",
}
OUTCOMES = ("completed", "deferred", "failed", "expired", "dead")
QUANTILES = (0.5, 0.95, 0.99)
ACCURACY = 10_000
FINAL_OUTCOMES = ("completed", "dead")  # the message is gone with such an attempt
SUMS = ("arrivals", "due", "due_ms", "begun", "begun_ms", "ended", "ended_ms")
EXACT_BELOW = 256
STEPS = 32
MEASURES = {"waits": "wait_ms", "services": "service_ms"}
FAILED_OUTCOMES = ("failed", "expired", "dead")
ERROR_LENGTH = 200
SAMPLE_LENGTH = 500
MAX_GROUPS = 1000  # pairs of channel and error are kept of a day, the most frequent
OTHER_ERRORS = "(other errors)"
EXPIRED_ERROR, MISSING_ERROR = "(the lease ran out)", "(no error was given)"
# In this order: a later one must not find the pieces of an earlier one.
REPLACEMENTS = (
    (r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}", "<id>"),
    (r"0x[0-9a-fA-F]+", "<address>"),
    (r"\S+@\S+\.\w+", "<mail>"),
    (r"\b(?=[A-Za-z_-]*\d)(?=[\d_-]*[A-Za-z])[\w-]{8,}\b", "<id>"),
    (r"\d+([.,:]\d+)*", "#"),
)


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
    return select_declared(
        there.withColumn("begins_at", F.timestamp_millis("begins")), columns.FLOW
    )


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
        found.withColumns({**named, "begins_at": F.timestamp_millis("begins")}),
        columns.OUTCOMES_HOURLY,
    )


def percentiles(column: str) -> Column:
    """The 50th, 95th and 99th of a column."""
    return F.percentile_approx(column, list(QUANTILES), ACCURACY)


def count_if(condition: Column) -> Column:
    """How many rows it holds for."""
    return F.count(F.when(condition, F.lit(1)))


def compute_histograms(attempts: DataFrame) -> DataFrame:
    """The histograms of each channel and day."""
    return select_declared(count_by_step(attempts, "source", "date", "channel"), columns.HISTOGRAMS)


def compute_hourly_histograms(attempts: DataFrame, *, every_ms: int = HOUR_MS) -> DataFrame:
    """The histograms of all channels together, by the bucket in which attempts ended."""
    placed = attempts.withColumn("begins", bucket_start(F.col("finished_at"), every_ms))
    found = count_by_step(placed, "source", "date", "begins")
    return select_declared(
        found.withColumn("begins_at", F.timestamp_millis("begins")), columns.HOURLY_HISTOGRAMS
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
    waits = compute_percentiles(spreads, "waits", "wait", keys)
    services = compute_percentiles(spreads, "services", "service", keys)
    return waits.join(services, list(keys), "full")


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


def compute_error_groups(attempts: DataFrame, *, most: int = MAX_GROUPS) -> DataFrame:
    """The number of errors by channel, day and group, with a sample."""
    bad = attempts.where(F.col("outcome").isin(*FAILED_OUTCOMES))
    missing = F.when(F.col("outcome") == "expired", EXPIRED_ERROR).otherwise(MISSING_ERROR)
    with_error = bad.withColumn("error", F.coalesce("error", missing))
    grouped = with_error.withColumns(
        {"sample": F.substring("error", 1, SAMPLE_LENGTH), "error": normalize_error(F.col("error"))}
    )
    counted = grouped.groupBy("source", "date", "channel", "error").agg(
        F.count("*").alias("attempts"),
        count_if(F.col("outcome") == "dead").alias("dead"),
        F.min("finished_at").alias("first_ms"),
        F.max("finished_at").alias("last_ms"),
        F.min("sample").alias("sample"),
    )
    ranked = Window.partitionBy("source", "date").orderBy(F.desc("attempts"), "error", "channel")
    placed = counted.withColumn("place", F.row_number().over(ranked))
    is_kept = F.col("place") <= most
    named = placed.withColumns(
        {
            "channel": F.when(is_kept, F.col("channel")),
            "error": F.when(is_kept, F.col("error")).otherwise(OTHER_ERRORS),
            "sample": F.when(is_kept, F.col("sample")),
        }
    )
    folded = named.groupBy("source", "date", "channel", "error").agg(
        F.sum("attempts").alias("attempts"),
        F.sum("dead").alias("dead"),
        F.min("first_ms").alias("first_ms"),
        F.max("last_ms").alias("last_ms"),
        F.min("sample").alias("sample"),
    )
    moments = {
        "first_at": F.timestamp_millis("first_ms"),
        "last_at": F.timestamp_millis("last_ms"),
    }
    return select_declared(folded.withColumns(moments), columns.ERRORS)


def normalize_error(error: Column) -> Column:
    """The significant line of an error, without numbers and ids."""
    lines = F.filter(F.split(error, r"\R"), lambda line: F.trim(line) != "")
    first, last = (F.try_element_at(lines, F.lit(place)) for place in (1, -1))
    line = F.when(first.startswith("Traceback"), last).otherwise(first)
    text = F.trim(F.coalesce(line, F.lit(MISSING_ERROR)))
    text = F.substring(text, 1, 4 * ERROR_LENGTH)
    for pattern, replacement in REPLACEMENTS:
        text = F.regexp_replace(text, pattern, replacement)
    return F.substring(text, 1, ERROR_LENGTH)
