"""The queue for asynchronous code: one method a SQL function, over a DSN, a pool or a connection."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Self, Unpack

from lonnymq import tracing
from lonnymq.client import calls
from lonnymq.client._async.connections import copy_messages, run_dequeue
from lonnymq.client._async.handles import AsyncChannel, AsyncMessage
from lonnymq.client._async.install import install_async
from lonnymq.client._async.methods import AsyncMethods
from lonnymq.client.arguments import Bytes, Duration, Moment
from lonnymq.client.arguments import name as checked_name
from lonnymq.client.bulk import Bulk
from lonnymq.client.cursors import DequeueCursors, retry_pauses
from lonnymq.client.new_message import NewMessage
from lonnymq.client.options import ChannelOptions, QueueOptions
from lonnymq.results import (
    Batch,
    ChannelSetAnswer,
    CreateManyResult,
    CreateResult,
    QueueSetAnswer,
)


class AsyncQueue(AsyncMethods):
    """A queue in one schema of a PostgreSQL database.

    With a DSN, the queue opens connections when calls need them, and can be used by many tasks.
    `close` closes the idle connections.
    With a pool, each call borrows a connection.
    With a connection, each call joins the open transaction, or commits by itself if no transaction is open.
    A method with `using` runs on the connection that you give, inside your transaction, and commits nothing.
    """

    def __init__(self, source: Any, *, schema: str = "lonnymq") -> None:
        super().__init__(source, schema=schema)
        self._cursors = DequeueCursors()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the idle connections that this queue opened. A connection or a pool that you gave stays open."""
        await self._source.close()

    async def install(self, *, roles: bool | None = None) -> None:
        """Install or upgrade the queue in the schema. Any number of processes can install at once.

        With `roles=True` the functions are granted to roles. With None the roles stay as they are.
        """
        async with self._source.connection() as connection:
            await install_async(connection, schema=self.schema, roles=roles)

    def channel(self, name: str) -> AsyncChannel:
        """Get a channel by name. Nothing is stored yet."""
        return AsyncChannel(checked_name("channel", name), self)

    async def set(self, **options: Unpack[QueueOptions]) -> QueueSetAnswer:
        """Set options of the queue and defaults of new channels. Options that you do not give stay as they are."""
        return await self._run(calls.queue_set(self.schema, options))

    async def channel_set(
        self, channel: str, **options: Unpack[ChannelOptions]
    ) -> ChannelSetAnswer:
        """Set options of a channel. Options that you do not give stay as they are."""
        return await self._run(calls.channel_set(self.schema, channel, options))

    async def create(
        self,
        channel: str,
        content: Bytes,
        *,
        delay_ms: Duration | None = None,
        dequeue_at: Moment | None = None,
        key: str | None = None,
        kind: str | None = None,
        headers: Mapping[str, Any] | None = None,
        using: Any = None,
    ) -> CreateResult:
        """Add a message to a channel. Raises ChannelFull or ChannelRetiring if the channel rejects the message."""
        message = NewMessage(content, channel, dequeue_at, delay_ms, key, kind, headers)
        if tracing.PACKAGE in tracing.modules:
            with tracing.creating(self.schema, message) as carrying:
                return await self._run(calls.message_create(self.schema, carrying), using)
        return await self._run(calls.message_create(self.schema, message), using)

    async def create_many(
        self,
        messages: Iterable[Bytes | NewMessage],
        *,
        channel: str | None = None,
        using: Any = None,
    ) -> list[CreateManyResult]:
        """Add many messages in one call, in this order. Each message has a result, and rejections are not raised."""
        if tracing.PACKAGE in tracing.modules:
            with tracing.creating_many(self.schema, messages, NewMessage) as carrying:
                call = calls.message_create_many(self.schema, carrying, channel=channel)
                return await self._run(call, using)
        return await self._run(
            calls.message_create_many(self.schema, messages, channel=channel), using
        )

    async def copy(
        self, messages: Iterable[Bytes | NewMessage], *, channel: str | None = None
    ) -> int:
        """Load messages with COPY and answer how many. COPY does not look at the capacity of channels."""
        if tracing.PACKAGE in tracing.modules:
            with tracing.creating_many(self.schema, messages, NewMessage) as carrying:
                return await copy_messages(
                    self._source, Bulk(self.schema, carrying, channel=channel)
                )
        return await copy_messages(self._source, Bulk(self.schema, messages, channel=channel))

    async def dequeue(
        self, limit: int = 1, *, lease_ms: Duration = 30_000, worker: str | None = None
    ) -> Batch[AsyncMessage]:
        """Lease up to `limit` messages, fair to all channels. An empty batch says why, and when to dequeue again."""
        for pause in retry_pauses():
            batch = await self._dequeue_once(limit, lease_ms, worker)
            if batch.reason != "contended":
                break
            await asyncio.sleep(pause)
        return batch

    async def _dequeue_once(
        self, limit: int, lease_ms: Duration, worker: str | None
    ) -> Batch[AsyncMessage]:
        with self._cursors.lend() as cursor:
            call = calls.message_dequeue(
                self.schema,
                partial(AsyncMessage, queue=self),
                limit=limit,
                lease_ms=lease_ms,
                worker=worker,
                cursor=cursor.position,
            )
            dequeued = await run_dequeue(self._source, call)
            cursor.position = dequeued.cursor
        return dequeued.batch
