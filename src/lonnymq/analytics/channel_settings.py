"""Channel settings over time: each row of `channels` is valid until the next row of its channel."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

DEFAULTS = ""  # the name under which the queue's defaults are kept: no channel can have it
SETTINGS = ("max_concurrency", "min_interval_ms", "burst", "weight", "paused")
FOREVER = 1 << 62
CHANNELS = """
  source string, channel string, taken_at timestamp, max_concurrency int, min_interval_ms long, burst int,
  max_size long, when_full string, weight int, max_attempts int, paused boolean
"""


def join_settings(frame: DataFrame, channels: DataFrame) -> DataFrame:
    """A frame with `source`, `channel` and `begins_at`, and what was in force at each `begins_at`.

    The first row that is known of a channel stands for the time before it too; a channel without one has the queue's
    defaults; without those nothing is known, and nothing is said.
    """
    at = F.unix_millis("begins_at")
    known = settings_intervals(channels)
    own = known.where(F.col("channel") != DEFAULTS).drop("at")
    every = known.where(F.col("channel") == DEFAULTS).drop("channel")
    every = every.select(
        "source", *(F.col(each).alias(f"default_{each}") for each in (*SETTINGS, "since", "until"))
    )
    during = F.lit(True) & (at >= F.col("since")) & (at < F.col("until"))
    found = (
        frame.alias("frame")
        .join(
            own.alias("own"),
            (F.col("frame.source") == F.col("own.source"))
            & (F.col("frame.channel") == F.col("own.channel"))
            & during,
            "left",
        )
        .select(
            "frame.*",
            F.col("own.channel").isNotNull().alias("is_own"),
            *(f"own.{each}" for each in SETTINGS),
        )
    )
    during = (at >= F.col("default_since")) & (at < F.col("default_until"))
    both = (
        found.alias("frame")
        .join(
            every.alias("every"), (F.col("frame.source") == F.col("every.source")) & during, "left"
        )
        .select("frame.*", *(f"default_{each}" for each in SETTINGS))
    )
    chosen = {
        each: F.when(F.col("is_own"), F.col(each)).otherwise(F.col(f"default_{each}"))
        for each in SETTINGS
    }
    return both.withColumns(chosen).drop("is_own", *(f"default_{each}" for each in SETTINGS))


def settings_intervals(channels: DataFrame) -> DataFrame:
    """Each row of settings with the interval in which it is valid."""
    taken = F.unix_millis("taken_at")
    rows = channels.select("source", "channel", taken.alias("at"), *SETTINGS)
    order = Window.partitionBy("source", "channel").orderBy("at")
    return rows.withColumns(
        {
            "since": F.when(F.lag("at").over(order).isNull(), F.lit(-FOREVER)).otherwise(
                F.col("at")
            ),
            "until": F.coalesce(F.lead("at").over(order), F.lit(FOREVER)),
        }
    )
