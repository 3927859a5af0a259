"""chancy: a worker with its asyncio executor and eager polling, a no-op job, pushes by its synchronous calls."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

from benchmarks.load_control import LoadControl
from benchmarks.payload import Payload
from benchmarks.systems.base import New, System, wait_until_stopped

QUEUE = "bench"
controls: list[
    LoadControl
] = []  # jobs are found by the path of a function, so the control waits here for it


async def handle(message: Any) -> None:
    await controls[-1].handle_async(message)
    controls[-1].done()


class ChancyProducer:
    def __init__(self, dsn: str) -> None:
        from chancy import Chancy, Job

        self.chancy = Chancy(dsn, min_connection_pool_size=1, max_connection_pool_size=1)
        self.chancy.__enter__()
        self.job = Job.from_func(handle, queue=QUEUE)

    def create_one(self, channel: str, message: Payload) -> None:
        self.chancy.sync_push(self.job.with_kwargs(message=message))

    def create_many(self, messages: Sequence[New]) -> None:
        jobs = [self.job.with_kwargs(message=message) for _, message in messages]
        for _ in self.chancy.sync_push_many(jobs):
            pass

    def close(self) -> None:
        self.chancy.__exit__(None, None, None)


class Chancy(System):
    name = "chancy"
    package = "chancy"
    listens = True
    backlog = 20_000
    notes = "asyncio executor, 100 at once in each of 2 processes, eager polling. 20,000 preloaded"

    def consumers(self, batch: int) -> int:
        return 2

    def install(self, dsn: str) -> None:
        from chancy import Chancy, Queue

        async def migrate() -> None:
            async with Chancy(dsn) as chancy:
                await chancy.migrate()
                await chancy.declare(
                    Queue("default", tags=set())
                )  # not for us: it would start processes
                await chancy.declare(
                    Queue(
                        QUEUE,
                        executor="chancy.executors.asyncex.AsyncExecutor",
                        concurrency=100,
                        polling_interval=1,
                        eager_polling=True,
                    )
                )

        asyncio.run(migrate())

    def producer(self, dsn: str) -> ChancyProducer:
        return ChancyProducer(dsn)

    def consume(self, control: LoadControl, dsn: str, batch: int) -> None:
        logging.disable(logging.INFO)
        controls.append(control)
        asyncio.run(self._consume(control, dsn))

    async def _consume(self, control: LoadControl, dsn: str) -> None:
        from chancy import Chancy, Worker

        async with Chancy(dsn) as chancy:
            control.ready()
            async with Worker(chancy, register_signal_handlers=False):
                await wait_until_stopped(control, lambda: None)
