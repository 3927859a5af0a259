"""Procrastinate: an async worker with a no-op task, defer and batch_defer by its synchronous connector."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

from benchmarks.load_control import LoadControl
from benchmarks.payload import Payload
from benchmarks.systems.base import New, System, wait_until_stopped

TASK = "bench"


class ProcrastinateProducer:
    def __init__(self, dsn: str) -> None:
        from procrastinate import App, SyncPsycopgConnector

        logging.getLogger("procrastinate").setLevel(logging.WARNING)
        self.app = App(connector=SyncPsycopgConnector(conninfo=dsn, min_size=1, max_size=1))
        self.app.open()
        self.task = self.app.configure_task(TASK)

    def create_one(self, channel: str, message: Payload) -> None:
        self.task.defer(message=message)

    def create_many(self, messages: Sequence[New]) -> None:
        self.task.batch_defer(*({"message": message} for _, message in messages))

    def close(self) -> None:
        self.app.close()


class Procrastinate(System):
    name = "Procrastinate"
    package = "procrastinate"
    listens = True
    backlog = 10_000
    notes = (
        "run_worker_async(concurrency=10) in 4 processes, jobs kept (the default). 10,000 preloaded"
    )
    concurrency = 10

    def consumers(self, batch: int) -> int:
        return 4

    def install(self, dsn: str) -> None:
        from procrastinate import App, SyncPsycopgConnector

        with App(connector=SyncPsycopgConnector(conninfo=dsn)).open() as app:
            app.schema_manager.apply_schema()

    def producer(self, dsn: str) -> ProcrastinateProducer:
        return ProcrastinateProducer(dsn)

    def consume(self, control: LoadControl, dsn: str, batch: int) -> None:
        logging.getLogger("procrastinate").setLevel(logging.ERROR)
        asyncio.run(self._consume(control, dsn))

    async def _consume(self, control: LoadControl, dsn: str) -> None:
        from procrastinate import App, PsycopgConnector

        app = App(connector=PsycopgConnector(conninfo=dsn, min_size=4, max_size=self.concurrency))

        @app.task(name=TASK)  # type: ignore[untyped-decorator]  # its own
        async def handle(message: Any) -> None:
            await control.handle_async(message)
            control.done()

        async with app.open_async():
            control.ready()
            worker = asyncio.create_task(
                app.run_worker_async(
                    concurrency=self.concurrency,
                    install_signal_handlers=False,
                    fetch_job_polling_interval=1.0,
                    shutdown_graceful_timeout=5.0,
                )
            )
            await wait_until_stopped(control, worker.cancel)
            await asyncio.gather(worker, return_exceptions=True)
