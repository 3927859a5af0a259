"""Found by Spark itself, which imports every module named `pyspark_…` in every worker: `format("lonnymq")`."""

from lonnymq.spark.source import LonnySource as DefaultSource

__all__ = ["DefaultSource"]
