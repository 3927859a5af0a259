"""Found by Spark itself, which imports every module named `pyspark_…` in every worker: `format("lonnymq")`."""

from lonnymq.spark.data_source import LonnySource as DefaultSource

__all__ = ["DefaultSource"]
