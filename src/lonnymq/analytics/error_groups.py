"""Groups of similar errors: numbers, ids and addresses are replaced before counting."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from lonnymq.analytics.schemas import ERRORS, select_declared
from lonnymq.analytics.time_buckets import to_timestamp

FAILED_OUTCOMES = ("failed", "expired", "dead")
ERROR_LENGTH = 200
SAMPLE_LENGTH = 500
MAX_GROUPS = 1000  # pairs of channel and error are kept of a day, the most frequent
OTHER_ERRORS = "(other errors)"
MISSING_ERRORS = {"expired": "(the lease ran out)", "failed": "(no error was given)"}
# In this order: a later one must not find the pieces of an earlier one.
REPLACEMENTS = (
    (r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}", "<id>"),
    (r"0x[0-9a-fA-F]+", "<address>"),
    (r"\S+@\S+\.\w+", "<mail>"),
    (r"\b(?=[A-Za-z_-]*\d)(?=[\d_-]*[A-Za-z])[\w-]{8,}\b", "<id>"),
    (r"\d+([.,:]\d+)*", "#"),
)


def compute_error_groups(attempts: DataFrame, *, most: int = MAX_GROUPS) -> DataFrame:
    """The number of errors by channel, day and group, with a sample."""
    bad = attempts.where(F.col("outcome").isin(*FAILED_OUTCOMES))
    said = bad.withColumn(
        "error", F.coalesce(F.col("error"), describe_missing_error(F.col("outcome")))
    )
    told = said.withColumns(
        {"sample": F.substring("error", 1, SAMPLE_LENGTH), "error": normalize_error(F.col("error"))}
    )
    counted = told.groupBy("source", "date", "channel", "error").agg(
        *counts(), F.min("sample").alias("sample")
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
        "first_at": to_timestamp(F.col("first_ms")),
        "last_at": to_timestamp(F.col("last_ms")),
    }
    return select_declared(folded.withColumns(moments), ERRORS)


def counts() -> list[Column]:
    """The aggregated columns of a group."""
    return [
        F.count("*").alias("attempts"),
        F.count(F.when(F.col("outcome") == "dead", 1)).alias("dead"),
        F.min("finished_at").alias("first_ms"),
        F.max("finished_at").alias("last_ms"),
    ]


def describe_missing_error(outcome: Column) -> Column:
    """The text for attempts without an error."""
    return F.when(outcome == "expired", MISSING_ERRORS["expired"]).otherwise(
        MISSING_ERRORS["failed"]
    )


def normalize_error(error: Column) -> Column:
    """The significant line of an error, without numbers and ids."""
    lines = F.filter(F.split(error, r"\R"), lambda line: F.trim(line) != "")
    first, last = (F.try_element_at(lines, F.lit(place)) for place in (1, -1))
    line = F.when(first.startswith("Traceback"), last).otherwise(first)
    said = F.trim(F.coalesce(line, F.lit(MISSING_ERRORS["failed"])))
    said = F.substring(said, 1, 4 * ERROR_LENGTH)
    for pattern, replacement in REPLACEMENTS:
        said = F.regexp_replace(said, pattern, replacement)
    return F.substring(said, 1, ERROR_LENGTH)
