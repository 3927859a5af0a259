"""Registers `format("lonnymq")`: Spark imports every module named `pyspark_…` in every worker."""

from lonnymq.spark.data_source import LonnyMQDataSource as DefaultSource

__all__ = ["DefaultSource"]
