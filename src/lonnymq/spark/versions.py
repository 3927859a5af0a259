"""The versions of Spark: what each lacks, said when the format is registered and when somebody asks for it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from lonnymq.errors import LonnyMQError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Version = tuple[int, int]
OLDEST: Version = (4, 0)
# What came to Python data sources after Spark 4.0: the first version, and what to do before that version.
ADDED: dict[str, tuple[Version, str]] = {
    "stream reads": ((4, 2), "use lonnymq.spark.run_workers, or read history in batches"),
    "stream writes": (
        (4, 1),
        "use foreachBatch with a batch write, the name of your query as txnAppId "
        "and the number of the batch as txnVersion",
    ),
    "filters in PostgreSQL": ((4, 1), "remove the option pushDownPredicate, and Spark filters"),
}
logger = logging.getLogger("lonnymq.spark")


class SparkOutdated(LonnyMQError):
    """Your version of Spark lacks something that the operation needs. The error says what to do instead."""


def parse_version(text: str) -> Version:
    """The first two numbers of a version such as 4.3.0 or 4.2.0-preview."""
    major, minor = text.split(".")[:2]
    return int(major), int(minor)


def require(feature: str) -> None:
    """Raise if the Spark of this process lacks a feature."""
    import pyspark

    if parse_version(pyspark.__version__) < ADDED[feature][0]:
        raise SparkOutdated(describe_missing(pyspark.__version__, feature))


def describe_missing(version: str, feature: str) -> str:
    """The sentence about a feature that a version of Spark lacks."""
    (major, minor), advice = ADDED[feature]
    return f"{feature} need Spark {major}.{minor}, and this is Spark {version}: {advice}"


def check_version(spark: SparkSession) -> None:
    """Raise for a Spark that is too old, and log what the Spark of a session lacks."""
    found = parse_version(spark.version)
    if found < OLDEST:
        raise SparkOutdated(f"lonnymq needs Spark 4.0 or newer, and this is Spark {spark.version}")
    for feature, (first, _) in ADDED.items():
        if found < first:
            logger.warning("lonnymq: %s", describe_missing(spark.version, feature))
