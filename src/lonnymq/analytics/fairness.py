"""Fairness between channels: Jain's index of each time bucket, noisy neighbours, and starvation.

Jain's index compares the channels of a source with a backlog at the begin and at the end of the bucket. Channels held
back by their own settings count as `held` and are left out: paused, or at 90% or more of a limit. A channel's share is
its attempts divided by its weight. 1 means equal shares, 1/n that one of n channels got everything.

The work of a channel in a bucket is its backlog at the begin plus the attempts that became due. A channel is noisy if
its work is more than ten times that of the median channel (the lower one of two) and at least 5% of all work. The other
channels are quiet; their wait is the p95 wait of the median quiet channel.

A starvation window is a time in which a channel had a backlog and none of its attempts began. Between two dequeues of a
channel the window begins with the first of them, or later, when the oldest message that was still to be dequeued became
ready; it ends with the second. The lengths of all windows add up to the time for which the channel had a backlog. The
dequeue before is looked for on the same UTC day and the day before.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from lonnymq.analytics import columns
from lonnymq.analytics.channel_hours import is_limited, join_settings
from lonnymq.analytics.columns import SECOND_MS, bucket_start, select_declared, to_date

TIMES_MEDIAN = 10
MIN_SHARE = 0.05
BUCKET = ["source", "begins_at"]
MIN_WINDOW_MS = 10 * SECOND_MS  # shorter ones are not kept
MAX_WINDOWS = 20  # of a channel and a day are kept, the longest
KEYS = ("source", "channel", "date")
DEQUEUE = ("source", "channel", "dequeued_at")


def compute_fairness(hours: DataFrame) -> DataFrame:
    """Jain's index over competing channels; null with fewer than two."""
    backlogged = hours.where((F.col("waiting_before") > 0) & (F.col("waiting_after") > 0))
    competes = ~is_limited()
    share = F.when(competes, F.col("begun") / F.coalesce("weight", F.lit(1)))
    rows = backlogged.select(
        "source", "begins_at", is_limited().alias("is_held"), share.alias("share")
    )
    found = rows.groupBy("source", "begins_at").agg(
        F.count("*").alias("backlogged"),
        F.count(F.when(F.col("is_held"), 1)).alias("held"),
        F.count("share").alias("competing"),
        F.sum("share").alias("sum"),
        F.sum(F.col("share") * F.col("share")).alias("squares"),
        F.min("share").alias("least"),
        F.max("share").alias("most"),
    )
    even = F.when(F.col("squares") == 0, F.lit(1.0)).otherwise(
        F.col("sum") * F.col("sum") / (F.col("competing") * F.col("squares"))
    )
    return select_declared(
        found.withColumn("jain", F.when(F.col("competing") > 1, even)), columns.FAIRNESS
    )


def compute_noisy_hours(hours: DataFrame) -> DataFrame:
    """Noisy and quiet channels in each bucket."""
    return select_declared(sum_by_bucket(mark_noisy(hours)), columns.NOISY_HOURS)


def compute_noisy_neighbours(hours: DataFrame) -> DataFrame:
    """Noisy channels: number of buckets, share of all work, and the wait of quiet channels then and otherwise."""
    marked = mark_noisy(hours)
    buckets = sum_by_bucket(marked)
    loud = marked.where("is_noisy").join(buckets.select(*BUCKET, "quiet_wait_p95"), BUCKET)
    still = buckets.where("noisy = 0").groupBy("source")
    otherwise = still.agg(median("quiet_wait_p95").alias("otherwise_wait_p95"))
    found = loud.groupBy("source", "channel").agg(
        F.count("*").alias("hours"),
        (F.sum("work") / F.sum("all_work")).alias("share"),
        F.max(F.col("work") / F.col("all_work")).alias("most_share"),
        median("quiet_wait_p95").alias("quiet_wait_p95"),
    )
    return select_declared(found.join(otherwise, ["source"], "left"), columns.NOISY_NEIGHBOURS)


def mark_noisy(hours: DataFrame) -> DataFrame:
    """Channels with work in each bucket, and whether each was noisy."""
    work = F.col("waiting_before") + F.col("due")
    busy = hours.select(*BUCKET, "channel", "wait_p95", work.alias("work")).where("work > 0")
    usual = busy.groupBy(*BUCKET).agg(
        median("work").alias("median_work"), F.sum("work").alias("all_work")
    )
    is_noisy = (F.col("work") > TIMES_MEDIAN * F.col("median_work")) & (
        F.col("work") >= MIN_SHARE * F.col("all_work")
    )
    return busy.join(usual, BUCKET).withColumn("is_noisy", is_noisy)


def sum_by_bucket(marked: DataFrame) -> DataFrame:
    """Work and waits of noisy and of quiet channels in each bucket."""
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
    """The median; the lower one of two."""
    return F.percentile_approx(column, 0.5, 10_000)


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
    counted = count_served(
        count_running(found, attempts.where(F.col("service_ms") >= least_ms)), seen
    )
    moments = {"begins_at": F.timestamp_millis("begins"), "ends_at": F.timestamp_millis("ends")}
    return select_declared(counted.withColumns(moments), columns.STARVATION)


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
    return select_declared(known.withColumn("is_held", is_held), columns.STARVED)
