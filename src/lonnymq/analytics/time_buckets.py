"""Moments and buckets of time as columns: epoch milliseconds, whatever zone the session is set to."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

SECOND_MS = 1_000
HOUR_MS = 3_600_000
DAY_MS = 86_400_000


def bucket_start(moment: Column, every_ms: int) -> Column:
    """Where the bucket begins that a moment lies in; before 1970 as well."""
    return moment - F.pmod(moment, F.lit(every_ms))


def to_timestamp(moment: Column) -> Column:
    """Epoch milliseconds as a timestamp."""
    return F.timestamp_millis(moment)


def to_date(moment: Column) -> Column:
    """The UTC day of epoch milliseconds."""
    return F.date_from_unix_date((bucket_start(moment, DAY_MS) / DAY_MS).cast("int"))
