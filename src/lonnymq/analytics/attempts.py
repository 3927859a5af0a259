"""Attempts from rows of history: since when each could have been begun, how long it waited, how long it took.

What a wait is. An attempt is ready at the latest of three moments: when its message was created, when it was due
(`dequeue_at`), and when the attempt before it ended. It waits from then until it is dequeued.
- A retry is due after its delay, a deferred message at the moment it was deferred to: neither pause is a wait.
- A `dequeue_at` in the past, however far, is a rank: the message is ready when it was created.
- After a lease that ran out, and after a defer into the past, the message stands where it stood: the end of the attempt
  before decides. That attempt is looked for on the same day and, in `earlier`, on the day before.
- A dead message that was redriven waited in no line for some of the time, and history does not say when that ended:
  its wait is unknown, and it is not counted as waiting.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from lonnymq.analytics.columns import ATTEMPTS, select_declared, to_date

# After these the message may be due before the moment at which it came back; a failed one is due at that or later.
RETURNING_OUTCOMES = ("expired", "deferred", "dead")
MAX_BROADCAST = 300_000  # of these fit into the memory of every executor


def compute_attempts(
    history: DataFrame, *, earlier: DataFrame | None = None, are_few: bool = False
) -> DataFrame:
    """Attempts with their waits. `are_few`: the rows of COMES_BACK are few enough to send to every executor."""
    rows = select_milliseconds(history)
    before = rows if earlier is None else rows.unionByName(select_milliseconds(earlier))
    ends = collect_ends(before)
    known = rows.join(F.broadcast(ends) if are_few else ends, ["source", "message_id"], "left")
    last = F.array_max(F.filter("ends", lambda end: end["finished_at"] <= F.col("dequeued_at")))
    back = known.withColumn("back", last)
    due = F.greatest("created_at", "dequeue_at", F.col("back.finished_at"))
    is_redriven = F.coalesce(F.col("back.was_dead"), F.lit(False))
    ready = F.when(is_redriven, F.col("dequeued_at")).otherwise(F.least(due, "dequeued_at"))
    found = back.withColumn("ready_at", ready)
    found = found.withColumn(
        "wait_ms", F.when(~is_redriven, F.col("dequeued_at") - F.col("ready_at"))
    )
    service = F.greatest(F.lit(0), F.col("finished_at") - F.col("dequeued_at"))
    return select_declared(found.withColumn("service_ms", service), ATTEMPTS)


def select_milliseconds(history: DataFrame) -> DataFrame:
    """The columns of an analysis, with times in milliseconds. History of a queue has no source and no date."""
    moments = {
        name: F.unix_millis(name).alias(name)
        for name in ("created_at", "dequeued_at", "finished_at")
    }
    source = "source" if "source" in history.columns else F.lit("").alias("source")
    date = "date" if "date" in history.columns else to_date(F.unix_millis("finished_at"))
    rows = history.where("attempt > 0").select(  # 0: a waiting message was cancelled
        source,
        "message_id",
        "channel",
        "attempt",
        "outcome",
        "size",
        "error",
        "dequeue_at",
        *moments.values(),
        F.col(date).alias("date") if isinstance(date, str) else date.alias("date"),
    )
    # A clock that was set back must not make an attempt end before it began.
    return rows.withColumn("finished_at", F.greatest("finished_at", "dequeued_at"))


def collect_ends(rows: DataFrame) -> DataFrame:
    """For each message, the ends after which it returned to its position in the queue."""
    end = F.struct("finished_at", (F.col("outcome") == "dead").alias("was_dead"))
    ends = rows.where(F.col("outcome").isin(*RETURNING_OUTCOMES)).groupBy("source", "message_id")
    return ends.agg(F.collect_list(end).alias("ends"))


def ends_are_few(history: DataFrame, *, most: int = MAX_BROADCAST) -> bool:
    """Whether so few messages return that they can be broadcast in a join."""
    came_back = history.where(F.col("outcome").isin(*RETURNING_OUTCOMES))
    return came_back.select("message_id").limit(most + 1).count() <= most
