"""awa-pg: its Rust runtime under Python, a no-op async task, inserts by its synchronous client."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.load_control import LoadControl
from benchmarks.payload import Payload
from benchmarks.systems.base import New, System, wait_until_stopped

QUEUE = "bench"
WORKERS = 256


@dataclass
class BenchJob:
    at: int
    fill: str


def url(dsn: str) -> str:
    """Its driver wants a host in the usual place, and takes the socket's folder from the options."""
    return dsn.replace("postgres@/", "postgres@localhost/")


class AwaProducer:
    def __init__(self, dsn: str) -> None:
        import awa

        self.client = awa.Client(url(dsn), max_connections=1)

    def create_one(self, channel: str, message: Payload) -> None:
        self.client.insert(BenchJob(**message), queue=QUEUE)

    def create_many(self, messages: Sequence[New]) -> None:
        jobs = [BenchJob(**message) for _, message in messages]
        self.client.enqueue_many_copy(jobs, queue=QUEUE)

    def close(self) -> None:
        self.client.close()


class Awa(System):
    name = "awa"
    package = "awa-pg"
    listens = True
    load_size = 10_000
    notes = f"{WORKERS} workers in each of 2 processes, claim_batch_size as the batch. insert, enqueue_many_copy"

    def consumers(self, batch: int) -> int:
        return 2

    def install(self, dsn: str) -> None:
        import awa

        async def migrate() -> None:
            async with awa.AsyncClient(url(dsn)) as client:
                await client.migrate()
                await client.install_queue_storage()

        asyncio.run(migrate())

    def producer(self, dsn: str) -> AwaProducer:
        return AwaProducer(dsn)

    def consume(self, control: LoadControl, dsn: str, batch: int) -> None:
        asyncio.run(self._consume(control, dsn, {"claim_batch_size": batch}))

    def listen(self, control: LoadControl, dsn: str, slots: int = 1) -> None:
        asyncio.run(self._consume(control, dsn, {}))

    async def _consume(self, control: LoadControl, dsn: str, options: dict[str, int]) -> None:
        import awa

        async with awa.AsyncClient(url(dsn)) as client:

            @client.task(BenchJob, queue=QUEUE)  # type: ignore[untyped-decorator]  # its own
            async def handle(job: Any) -> None:
                await control.handle_async({"at": job.args.at})
                control.done()

            control.ready()
            queues = [{"name": QUEUE, "max_workers": WORKERS, **options}]
            await client.start(queues, poll_interval_ms=50)
            await wait_until_stopped(control, lambda: None)
            await client.shutdown()
