"""Batch reads: `spark.read.format("lonnymq")`."""
