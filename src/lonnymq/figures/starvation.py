"""Starvation windows: stretches in which a channel had something waiting and nothing of it was begun.

Between two dequeues of a channel the window begins with the first of them, or later, when the oldest message that was
still to be dequeued became ready; it ends with the second. The lengths of all windows add up to the time for which the
channel had a backlog. The dequeue before is looked for on the same UTC day and the day before.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from lonnymq.figures.columns import STARVATION, STARVED, shaped
from lonnymq.figures.settings import with_settings
from lonnymq.figures.times import SECOND_MS, bucket, day_of, instant

LEAST_MS = 10 * SECOND_MS  # shorter ones are not kept
MOST = 20  # of a channel and a day are kept, the longest
KEYS = ("source", "channel", "date")


def starvation(attempts: DataFrame, *, least_ms: int = LEAST_MS, most: int = MOST) -> DataFrame:
    """The longest windows of each channel and day, by the day that they end on.

    `windows` is how many of at least `least_ms` the channel had that day; `running` how many of its own attempts ran
    all the time; `others` how many attempts of other channels were begun in the window's whole seconds: none means
    that nobody was served at all.
    """
    begun = attempts.select(
        "source", "channel", "ready_at", "dequeued_at", day_of(F.col("dequeued_at")).alias("date")
    )
    found = gaps(begun, least_ms)
    whole = Window.partitionBy(*KEYS)
    place = F.row_number().over(whole.orderBy(F.desc("length_ms"), "ends"))
    kept = found.withColumns({"windows": F.count("*").over(whole), "place": place})
    kept = kept.where(F.col("place") <= most)
    key = ["source", "channel", "ends"]
    long = attempts.where(F.col("service_ms") >= least_ms)
    told = kept.join(served(kept, begun), key, "left").join(busy(kept, long), key, "left")
    told = told.withColumns(
        {
            "running": F.coalesce("running", F.lit(0)),
            "begins_at": instant(F.col("begins")),
            "ends_at": instant(F.col("ends")),
            "others": F.coalesce("others", F.lit(0)),
        }
    )
    return shaped(told, STARVATION)


def gaps(begun: DataFrame, least_ms: int) -> DataFrame:
    """The window before each dequeue, if it is so long."""
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
    last = begun.groupBy("source", "channel", F.date_add("date", 1).alias("date")).agg(
        F.max("dequeued_at").alias("day_before")
    )
    # Only the first dequeue of a day wants to know of the day before.
    found = ordered.where(long).join(last, list(KEYS), "left")
    begins = F.greatest("oldest", F.coalesce("before", "day_before"))
    found = found.withColumn("begins", begins)
    return found.withColumn("length_ms", F.col("ends") - F.col("begins")).where(
        F.col("length_ms") >= least_ms
    )


def busy(windows: DataFrame, long: DataFrame) -> DataFrame:
    """How many attempts of its own a channel had running from the beginning to the end of each window."""
    own = long.select("source", "channel", "dequeued_at", "finished_at")
    both = windows.select("source", "channel", "begins", "ends").join(own, ["source", "channel"])
    through = both.where("dequeued_at <= begins and finished_at >= ends")
    return through.groupBy("source", "channel", "ends").agg(F.count("*").alias("running"))


def served(windows: DataFrame, begun: DataFrame) -> DataFrame:
    """How many attempts were begun in the whole seconds of each window, by whomever."""
    second = bucket(F.col("dequeued_at"), SECOND_MS)
    counts = begun.groupBy("source", second.alias("at")).agg(F.count("*").alias("many"))
    moments = counts.select(
        "source", "at", "many", *(F.lit(None).cast("long").alias(each) for each in ("ends", "edge")),
        F.lit(None).cast("string").alias("channel"),
    )  # fmt: skip
    for edge, moment in ((0, "begins"), (1, "ends")):
        at = bucket(F.col(moment), SECOND_MS) - (SECOND_MS if edge else 0)
        marks = windows.select(
            "source", at.alias("at"), F.lit(0).alias("many"), "ends",
            F.lit(edge).cast("long").alias("edge"), "channel",
        )  # fmt: skip
        moments = moments.unionByName(marks)
    so_far = Window.partitionBy("source").orderBy("at")  # a range: all of one moment together
    summed = moments.withColumn("so_far", F.sum("many").over(so_far)).where("edge is not null")
    between = F.max(F.when(F.col("edge") == 1, F.col("so_far"))) - F.max(
        F.when(F.col("edge") == 0, F.col("so_far"))
    )
    return summed.groupBy("source", "channel", "ends").agg(
        F.greatest(F.lit(0), between).alias("others")
    )


def starved(windows: DataFrame, channels: DataFrame) -> DataFrame:
    """Windows with what was set, and whether that explains them: all slots in use, the rate used up, a pause."""
    known = with_settings(windows, channels)
    held = [
        F.col("running") >= F.col("max_concurrency"),
        F.col("length_ms") <= F.col("release_interval_ms"),
        F.col("paused"),
    ]
    is_held = F.lit(False)
    for each in held:
        is_held = is_held | F.coalesce(each, F.lit(False))
    return shaped(known.withColumn("is_held", is_held), STARVED)
