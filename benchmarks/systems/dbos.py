"""DBOS: a partitioned queue of no-op workflows, enqueued by its client."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import Any

from benchmarks.load_control import LoadControl
from benchmarks.payload import Payload
from benchmarks.systems.base import New, System

QUEUE = WORKFLOW = "bench"
POLL_SECONDS = 0.05
IN_A_PARTITION = 100  # at once in one process


def url(dsn: str) -> str:
    return dsn.replace("postgresql:", "postgresql+psycopg:")


class DbosProducer:
    def __init__(self, dsn: str) -> None:
        from dbos import DBOSClient

        self.client = DBOSClient(system_database_url=url(dsn))

    def create_one(self, channel: str, message: Payload) -> None:
        options: Any = {
            "queue_name": QUEUE,
            "workflow_name": WORKFLOW,
            "queue_partition_key": channel,
            "app_version": "bench",
        }
        self.client.enqueue(options, message)

    def create_many(self, messages: Sequence[New]) -> None:
        for channel, message in messages:
            self.create_one(channel, message)

    def close(self) -> None:
        self.client.destroy()


class Dbos(System):
    name = "DBOS"
    package = "dbos"
    backlog = 4_000
    creates_many = False
    notes = (
        "a queue with partition_worker_concurrency=100, polled every 50 ms (the default is 1 s), 2 processes. "
        "No call enqueues many, so 4,000 are preloaded"
    )

    def consumers(self, batch: int) -> int:
        return 2

    def install(self, dsn: str) -> None:
        launch(dsn, None)
        shut()

    def producer(self, dsn: str) -> DbosProducer:
        return DbosProducer(dsn)

    def consume(self, control: LoadControl, dsn: str, batch: int) -> None:
        logging.disable(logging.NOTSET)
        control.ready()
        launch(dsn, control)
        while not control.stopped:
            time.sleep(0.02)
        shut()


def launch(dsn: str, control: LoadControl | None) -> None:
    from dbos import DBOS

    number = control.slot if control else 99
    DBOS(
        config={
            "name": "bench",
            "system_database_url": url(dsn),
            "log_level": "ERROR",
            "application_version": "bench",
            "executor_id": f"bench-{number}",
        }
    )

    @DBOS.workflow(name=WORKFLOW)  # type: ignore[untyped-decorator]  # its own
    def handle(message: Payload) -> None:
        if control:
            control.handle(message)
            control.done()

    DBOS.launch()
    DBOS.register_queue(
        QUEUE, partition_worker_concurrency=IN_A_PARTITION, polling_interval_sec=POLL_SECONDS
    )


def shut() -> None:
    from dbos import DBOS

    logging.disable(logging.ERROR)  # of the workflows that it had taken and will take again
    DBOS.destroy(destroy_registry=True)
