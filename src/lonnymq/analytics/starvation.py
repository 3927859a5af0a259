"""Starvation windows: times in which a channel had a backlog and none of its attempts began.

Between two dequeues of a channel the window begins with the first of them, or later, when the oldest message that was
still to be dequeued became ready; it ends with the second. The lengths of all windows add up to the time for which the
channel had a backlog. The dequeue before is looked for on the same UTC day and the day before.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from lonnymq.analytics.channel_settings import join_settings
from lonnymq.analytics.schemas import STARVATION, STARVED, select_declared
from lonnymq.analytics.time_buckets import SECOND_MS, bucket_start, to_date, to_timestamp

MIN_WINDOW_MS = 10 * SECOND_MS  # shorter ones are not kept
MAX_WINDOWS = 20  # of a channel and a day are kept, the longest
KEYS = ("source", "channel", "date")
DEQUEUE = ("source", "channel", "dequeued_at")


def compute_starvation(
    attempts: DataFrame,
    *,
    before: DataFrame | None = None,
    least_ms: int = MIN_WINDOW_MS,
    most: int = MAX_WINDOWS,
) -> DataFrame:
    """The longest windows of each channel and day, by the day that they end on.

    `windows` is how many of at least `least_ms` the channel had that day; `running` how many of its own attempts ran
    all the time; `others` how many attempts of other channels were begun in the window's whole seconds: none means
    that nobody was served at all. Attempts in `before` end no windows, but may begin some.
    """
    begun = attempts.select(
        "source", "channel", "ready_at", "dequeued_at", to_date(F.col("dequeued_at")).alias("date")
    )
    dequeues = attempts.select(*DEQUEUE)
    seen = dequeues if before is None else dequeues.unionByName(before.select(*DEQUEUE))
    found = keep_longest(find_windows(begun, seen, least_ms), most)
    told = count_served(count_running(found, attempts.where(F.col("service_ms") >= least_ms)), seen)
    moments = {"begins_at": to_timestamp(F.col("begins")), "ends_at": to_timestamp(F.col("ends"))}
    return select_declared(told.withColumns(moments), STARVATION)


def find_windows(begun: DataFrame, seen: DataFrame, least_ms: int) -> DataFrame:
    """The window before each dequeue, if at least `least_ms` long."""
    # From the last to the first: what is still to be dequeued then lies before, and one pass will do.
    backward = Window.partitionBy(*KEYS).orderBy(F.desc("dequeued_at"), "ready_at")
    to_here = backward.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    ordered = begun.select(
        *KEYS,
        F.col("dequeued_at").alias("ends"),
        F.min("ready_at").over(to_here).alias("oldest"),
        F.lead("dequeued_at").over(backward).alias("before"),
    )
    long = F.col("ends") - F.greatest("oldest", "before") >= least_ms
    day_after = F.date_add(to_date(F.col("dequeued_at")), 1)
    last = seen.groupBy("source", "channel", day_after.alias("date")).agg(
        F.max("dequeued_at").alias("day_before")
    )
    # Only the first dequeue of a day wants to know of the day before.
    found = ordered.where(long).join(last, list(KEYS), "left")
    begins = F.greatest("oldest", F.coalesce("before", "day_before"))
    length = F.col("ends") - F.col("begins")
    found = found.withColumn("begins", begins).withColumn("length_ms", length)
    return found.where(F.col("length_ms") >= least_ms)


def keep_longest(windows: DataFrame, most: int) -> DataFrame:
    """Keep the longest windows of each channel and day, and count all."""
    whole = Window.partitionBy(*KEYS)
    place = F.row_number().over(whole.orderBy(F.desc("length_ms"), "ends"))
    ranked = windows.withColumns({"windows": F.count("*").over(whole), "place": place})
    return ranked.where(F.col("place") <= most).select(
        *KEYS, "begins", "ends", "length_ms", "windows"
    )


def count_running(windows: DataFrame, long: DataFrame) -> DataFrame:
    """Add to each window the channel's own attempts that ran from its begin to its end."""
    first, last = to_date(F.col("dequeued_at")), to_date(F.col("finished_at"))
    own = long.select(
        "source",
        "channel",
        F.explode(F.sequence(first, last)).alias("date"),  # on which a window may end
        F.col("dequeued_at").alias("since"),
        F.col("finished_at").alias("until"),
    )
    same = [F.col(f"own.{each}") == F.col(f"window.{each}") for each in KEYS]
    through = (F.col("since") <= F.col("begins")) & (F.col("until") >= F.col("ends"))
    both = windows.alias("window").join(own.alias("own"), [*same, through], "left")
    groups = both.groupBy(*(f"window.{each}" for each in windows.columns))
    return groups.agg(F.count("since").alias("running"))


def count_served(windows: DataFrame, seen: DataFrame) -> DataFrame:
    """Add to each window the attempts of all channels that began in its whole seconds."""
    second = bucket_start(F.col("dequeued_at"), SECOND_MS).alias("at")
    counts = seen.groupBy("source", second).agg(F.count("*").alias("many"))
    first = bucket_start(F.col("begins"), SECOND_MS)
    last = bucket_start(F.col("ends"), SECOND_MS) - SECOND_MS
    edges = F.array(
        F.struct(first.alias("at"), F.lit(False).alias("is_end")),
        F.struct(last.alias("at"), F.lit(True).alias("is_end")),
    )
    marks = windows.select("*", F.explode(edges).alias("edge")).select(*windows.columns, "edge.*")
    moments = marks.unionByName(counts, allowMissingColumns=True)
    so_far = Window.partitionBy("source").orderBy("at")  # a range: all of one moment together
    summed = moments.withColumn("so_far", F.sum("many").over(so_far)).where("is_end is not null")
    at_end, at_begin = (
        F.max(F.when(F.col("is_end") == end, F.col("so_far"))) for end in (True, False)
    )
    between = F.greatest(F.lit(0), F.coalesce(at_end, F.lit(0)) - F.coalesce(at_begin, F.lit(0)))
    return summed.groupBy(*windows.columns).agg(between.alias("others"))


def join_limits(windows: DataFrame, channels: DataFrame) -> DataFrame:
    """Add the settings to each window, and whether they explain it: concurrency, rate or pause."""
    known = join_settings(windows, channels)
    held = [
        F.col("running") >= F.col("max_concurrency"),
        F.col("length_ms") <= F.col("min_interval_ms"),
        F.col("paused"),
    ]
    is_held = F.lit(False)
    for each in held:
        is_held = is_held | F.coalesce(each, F.lit(False))
    return select_declared(known.withColumn("is_held", is_held), STARVED)
