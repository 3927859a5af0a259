"""The queue into a table: every message of every tenant, once, in Parquet, and those that cannot be read set aside.

    python examples/queue_into_table.py [folder]

Runs on this machine; give `session` the master of a cluster, and a folder that it shares, to run it there.
Kill it at any moment and start it again: nothing is lost, nothing is twice.
"""

import os
import sys
import tempfile

from pyspark.sql import DataFrame

import lonnymq
import lonnymq.spark
from lonnymq import NewMessage


def main(folder: str) -> None:
    with lonnymq.embedded(dsn=os.environ.get("LONNYMQ_DSN")) as server:
        queue = lonnymq.Queue(server.dsn)
        queue.install()
        queue.create_many(
            [NewMessage(b'{"amount": %d}' % each, f"tenant-{each % 3}") for each in range(30)]
        )
        queue.create("tenant-0", b"this is no JSON")
        spark = lonnymq.spark.session()

        def store(batch: DataFrame, number: int) -> None:
            """Write one batch; done twice, it is there once."""
            read = batch.selectExpr(
                "id",
                "token",
                "channel as tenant",
                "created_at",
                "try_cast(get_json_object(cast(content as string), '$.amount') as int) as amount",
            )
            read.where("amount is not null").drop("token").write.mode("overwrite").parquet(
                f"{folder}/sales/batch={number}"
            )
            unread = read.where("amount is null").selectExpr("id", "token", "'dead' as outcome")
            lonnymq.spark.set_outcomes(unread, url=server.dsn)

        query = (
            spark.readStream.format("lonnymq")
            .options(url=server.dsn, stream="sales", maxMessagesPerTrigger=20)
            .load("messages")
            .writeStream.foreachBatch(store)
            .option("checkpointLocation", f"{folder}/checkpoint")
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        sales = spark.read.parquet(f"{folder}/sales")
        for row in sales.groupBy("tenant").sum("amount").orderBy("tenant").collect():
            print(row.tenant, row["sum(amount)"])
        print(f"{len(queue.dead_list())} set aside")
        queue.close()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
