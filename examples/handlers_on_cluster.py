"""Handlers on a cluster: the handlers of a worker, run by Spark's executors, and what came of each message as rows.

    python examples/handlers_on_cluster.py

Runs on this machine; `MASTER=spark://host:7077 LONNYMQ_DSN=postgresql://… python …` runs it on a cluster, to whose
executors the library and these handlers are sent.
"""

import os
from dataclasses import dataclass

import lonnymq
import lonnymq.spark
from lonnymq import NewMessage, Worker

worker = Worker(concurrency=10)


@dataclass
class Photo:
    name: str
    width: int


@worker.handler("resize", max_attempts=1)
def resize(photo: Photo) -> None:
    if photo.width > 4000:
        raise ValueError(f"{photo.name} is {photo.width} wide")


def main() -> None:
    with lonnymq.embedded(dsn=os.environ.get("LONNYMQ_DSN")) as server:
        queue = lonnymq.Queue(server.dsn)
        queue.install()
        queue.channel("acme").set(max_concurrency=2)  # holds on the cluster as it does elsewhere
        widths = [1000 * each for each in range(1, 7)]
        photos = [b'{"name": "photo %d", "width": %d}' % (each, each) for each in widths]
        queue.create_many([NewMessage(each, "acme", kind="resize") for each in photos])
        spark = lonnymq.spark.session(os.environ.get("MASTER"))
        if not str(spark.sparkContext.master).startswith("local"):
            lonnymq.spark.send_library(spark)
        rows = lonnymq.spark.run_workers(spark, worker, url=server.dsn, until_empty=True)
        for row in rows.orderBy("id").collect():
            print(row.channel, row.answer, row.error or "")
        queue.close()


if __name__ == "__main__":
    main()
