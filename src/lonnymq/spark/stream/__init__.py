"""The streaming source: `spark.readStream.format("lonnymq")`."""
