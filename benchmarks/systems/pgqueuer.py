"""PgQueuer over asyncpg and uvloop, as its documentation advises: QueueManager.run with a no-op entrypoint."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

from benchmarks.load_control import LoadControl
from benchmarks.payload import Payload, decode, encode
from benchmarks.systems.base import New, System, wait_until_stopped

ENTRYPOINT = "bench"


def new_runner() -> asyncio.Runner:
    import uvloop

    return asyncio.Runner(loop_factory=uvloop.new_event_loop)


class PgQueuerProducer:
    def __init__(self, dsn: str) -> None:
        self.runner = new_runner()
        self.runner.run(self.open(dsn))

    async def open(self, dsn: str) -> None:
        import asyncpg
        from pgqueuer.queries import Queries

        self.connection = await asyncpg.connect(dsn)
        self.queries = Queries.from_asyncpg_connection(self.connection)

    def create_one(self, channel: str, message: Payload) -> None:
        self.runner.run(self.queries.enqueue(ENTRYPOINT, encode(message)))

    def create_many(self, messages: Sequence[New]) -> None:
        count, contents = len(messages), [encode(message) for _, message in messages]
        self.runner.run(self.queries.enqueue([ENTRYPOINT] * count, contents, [0] * count))

    def close(self) -> None:
        self.runner.run(self.connection.close())
        self.runner.close()


class PgQueuer(System):
    name = "PgQueuer"
    package = "pgqueuer"
    listens = True
    load_size = 5_000
    notes = "asyncpg, uvloop. QueueManager.run(batch_size=batch) with a no-op entrypoint. The job log is on (default)"

    def consumers(self, batch: int) -> int:
        return 2 if batch >= 100 else 8  # 4 processes drained 15 % less

    def install(self, dsn: str) -> None:
        with new_runner() as runner:
            runner.run(self._install(dsn))

    async def _install(self, dsn: str) -> None:
        import asyncpg
        from pgqueuer.queries import Queries

        connection = await asyncpg.connect(dsn)
        await Queries.from_asyncpg_connection(connection).install()
        await connection.close()

    def producer(self, dsn: str) -> PgQueuerProducer:
        return PgQueuerProducer(dsn)

    def consume(self, control: LoadControl, dsn: str, batch: int) -> None:
        logging.disable(logging.INFO)
        with new_runner() as runner:
            runner.run(self._consume(control, dsn, batch))

    async def _consume(self, control: LoadControl, dsn: str, batch: int) -> None:
        import asyncpg
        from pgqueuer.qm import QueueManager
        from pgqueuer.queries import Queries

        connection = await asyncpg.connect(dsn)
        manager = QueueManager(Queries.from_asyncpg_connection(connection))

        @manager.entrypoint(ENTRYPOINT)  # type: ignore[untyped-decorator]  # its own
        async def handle(job: Any) -> None:
            await control.handle_async(decode(job.payload))
            control.done()

        control.ready()
        stopping = asyncio.create_task(wait_until_stopped(control, manager.shutdown.set))
        await manager.run(batch_size=batch)
        await stopping
        await connection.close()
