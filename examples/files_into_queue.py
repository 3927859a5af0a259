"""Files into the queue: every line of the CSV files in a folder becomes a message, once, however often this runs.

    python examples/files_into_queue.py folder

The folder holds files such as `orders.csv` with a line of names first: `tenant,video,minutes`. New files are found by
the next run. LONNYMQ_DSN names the database; without it a private one is started.
"""

import sys
from pathlib import Path

from pyspark.sql import functions as f

import lonnymq
import lonnymq.spark

COLUMNS = "tenant string, video bigint, minutes int"


def main(folder: Path) -> None:
    with lonnymq.embedded() as server, lonnymq.Queue(server.dsn) as queue:
        queue.install()
        spark = lonnymq.spark.session()
        lines = spark.readStream.schema(COLUMNS).option("header", True).csv(str(folder / "*.csv"))
        messages = lines.select(
            f.col("tenant").alias("channel"),
            f.to_json(f.struct("video", "minutes")).alias("content"),
            f.lit("transcode").alias("kind"),
        )
        query = (
            messages.writeStream.format("lonnymq")
            .option("url", server.dsn)
            .option("rejectsTable", "rejected_lines")
            .option("checkpointLocation", str(folder / "checkpoint"))
            .trigger(availableNow=True)  # all that is there now; without it, whatever comes
            .start()
        )
        query.awaitTermination()
        for stats in queue.channel_stats():
            print(stats.channel, stats.waiting)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
