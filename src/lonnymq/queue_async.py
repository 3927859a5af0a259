"""The queue for asynchronous code: one method a SQL function, over a DSN, a pool or a connection."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any, Self

from lonnymq import calls
from lonnymq.calls import Duration
from lonnymq.connections_async import run_dequeue
from lonnymq.handles_async import AsyncChannel, AsyncMessage
from lonnymq.install import install_async
from lonnymq.methods.channels import AsyncChannelMethods
from lonnymq.methods.creating import AsyncCreateMethods
from lonnymq.methods.dead import AsyncDeadMethods
from lonnymq.methods.history import AsyncHistoryMethods
from lonnymq.methods.producers import AsyncProducerMethods
from lonnymq.methods.schedules import AsyncScheduleMethods
from lonnymq.methods.settling import AsyncSettleMethods
from lonnymq.methods.upkeep import AsyncUpkeepMethods
from lonnymq.methods.waiting import AsyncWaitingMethods
from lonnymq.methods.workers import AsyncWorkerMethods
from lonnymq.results import Batch
from lonnymq.turns import Turns, patience


class AsyncQueue(
    AsyncChannelMethods,
    AsyncCreateMethods,
    AsyncSettleMethods,
    AsyncWaitingMethods,
    AsyncDeadMethods,
    AsyncUpkeepMethods,
    AsyncHistoryMethods,
    AsyncScheduleMethods,
    AsyncWorkerMethods,
    AsyncProducerMethods,
):
    """A queue in one schema of a PostgreSQL database.

    Over a DSN it opens connections as it needs them and may be used by many tasks; `close` closes the idle ones.
    Over a pool each call borrows a connection.
    Over a connection each call joins the transaction that is open on it, or commits by itself if none is.
    Where a method takes `using`, it runs on that connection, inside the caller's transaction, and commits nothing.
    """

    def __init__(self, source: Any, *, schema: str = "lonnymq") -> None:
        super().__init__(source, schema=schema)
        self._turns = Turns()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the idle connections that were opened here; what the caller gave stays open."""
        await self._source.close()

    async def install(self, *, roles: bool | None = None) -> None:
        """Bring the schema to this version of the library; any number of processes may do so at once.

        With `roles` its functions are granted to roles by what each is for; unsaid, that stays as it is.
        """
        async with self._source.connection() as connection:
            await install_async(connection, schema=self.schema, roles=roles)

    def channel(self, name: str) -> AsyncChannel:
        """A channel by name, to say things of it; nothing is stored yet."""
        return AsyncChannel(calls.channel_name(name), self)

    async def dequeue(
        self, limit: int = 1, *, lease_ms: Duration = 30_000, worker: str | None = None
    ) -> Batch[AsyncMessage]:
        """Lease up to `limit` messages, fair to all channels; an empty batch says why and when to look again."""
        for pause in patience():
            batch = await self._dequeue_once(limit, lease_ms, worker)
            if batch.why != "contended":
                break
            await asyncio.sleep(pause)
        return batch

    async def _dequeue_once(
        self, limit: int, lease_ms: Duration, worker: str | None
    ) -> Batch[AsyncMessage]:
        with self._turns.turn() as turn:
            handle = partial(AsyncMessage, queue=self)
            call = calls.message_dequeue(
                self.schema,
                handle,
                limit=limit,
                lease_ms=lease_ms,
                worker=worker,
                cursor=turn.cursor,
            )
            dequeued = await run_dequeue(self._source, call)
            turn.cursor = dequeued.cursor
        return dequeued.batch
