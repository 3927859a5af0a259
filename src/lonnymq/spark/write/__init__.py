"""Writes: `df.write.format("lonnymq")` and `df.writeStream.format("lonnymq")`."""
