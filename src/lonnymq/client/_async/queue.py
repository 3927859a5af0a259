"""The queue for asynchronous code, its messages and its channels, over a DSN, a pool or a connection."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self, Unpack

from lonnymq import results, tracing
from lonnymq.client import calls
from lonnymq.client._async.connections import copy_messages, remove_limit, run_dequeue
from lonnymq.client._async.install import install_async
from lonnymq.client._async.methods import AsyncMethods
from lonnymq.client._async.waits import AsyncWaits
from lonnymq.client.arguments import Bytes, Duration, Moment, identifier, identifiers
from lonnymq.client.arguments import name as checked_name
from lonnymq.client.bulk import Bulk
from lonnymq.client.calls.lease import DequeueCursors, retry_pauses
from lonnymq.client.calls.message import MessageLimits, NewMessage
from lonnymq.client.calls.queue import ChannelOptions, QueueOptions


@dataclass(slots=True, eq=False)
class AsyncMessage(results.LeasedMessage):
    """A leased message: complete, defer or fail the message before `lease_until`, or extend the lease."""

    queue: AsyncQueue = field(repr=False)

    async def heartbeat(
        self,
        lease_ms: Duration = 30_000,
        *,
        progress: float | None = None,
        note: str | None = None,
    ) -> results.HeartbeatAnswer:
        """Extend the lease to `lease_ms` from now, and set the progress that `status` shows."""
        return await self.queue.heartbeat(self, lease_ms=lease_ms, progress=progress, note=note)

    async def complete(
        self, *, result: Bytes | None = None, using: Any = None
    ) -> results.CompleteAnswer:
        """Complete the message, with a result. With `using`, this happens when your transaction commits."""
        return await self.queue.complete(self, result=result, using=using)

    async def defer(
        self,
        *,
        delay_ms: Duration | None = None,
        dequeue_at: Moment | None = None,
        state: Bytes | None = None,
        using: Any = None,
    ) -> results.DeferAnswer:
        """Put the message back for later and keep `state` with the message. This attempt does not count."""
        return await self.queue.defer(
            self, delay_ms=delay_ms, dequeue_at=dequeue_at, state=state, using=using
        )

    async def fail(
        self,
        error: str | BaseException | None = None,
        *,
        retry_ms: Duration | None = None,
        dead: bool = False,
        using: Any = None,
    ) -> results.FailAnswer:
        """Fail this attempt. The message is retried after `retry_ms` or as the channel says, or is dead."""
        return await self.queue.fail(self, error=error, retry_ms=retry_ms, dead=dead, using=using)


@dataclass(frozen=True, slots=True)
class AsyncChannel:
    """One tenant's channel by name. The channel exists from the first message on, or once you set options."""

    name: str
    queue: AsyncQueue = field(repr=False)

    async def set(self, **options: Unpack[ChannelOptions]) -> results.ChannelSetAnswer:
        """Set options of the channel. Options that you do not give stay as they are."""
        return await self.queue.channel_set(self.name, **options)

    async def pause(self) -> results.PauseAnswer:
        """Stop the channel: no message is dequeued until you resume the channel."""
        return await self.queue.channel_pause(self.name)

    async def resume(self) -> results.ResumeAnswer:
        """Resume the channel."""
        return await self.queue.channel_resume(self.name)

    async def retire(self) -> results.RetireAnswer:
        """Retire the channel: the channel takes no new messages and is removed when the last message is done."""
        return await self.queue.channel_retire(self.name)

    async def stats(self) -> results.ChannelStats | None:
        """Show the state and the options of the channel, or None if the channel does not exist."""
        return next(iter(await self.queue.channel_stats(self.name)), None)

    async def create(
        self,
        content: Bytes,
        *,
        delay_ms: Duration | None = None,
        dequeue_at: Moment | None = None,
        key: str | None = None,
        kind: str | None = None,
        headers: Mapping[str, Any] | None = None,
        group: int | None = None,
        using: Any = None,
        **limits: Unpack[MessageLimits],
    ) -> results.CreateResult:
        """Add a message. With `using`, the message is created when your transaction commits."""
        return await self.queue.create(
            self.name,
            content,
            delay_ms=delay_ms,
            dequeue_at=dequeue_at,
            key=key,
            kind=kind,
            headers=headers,
            group=group,
            using=using,
            **limits,
        )

    async def create_many(
        self,
        messages: Iterable[Bytes | NewMessage],
        *,
        group: int | None = None,
        using: Any = None,
    ) -> list[results.CreateManyResult]:
        """Add many messages in one call, in this order. Each message has a result, and rejections are not raised."""
        return await self.queue.create_many(messages, channel=self.name, group=group, using=using)

    async def copy(self, messages: Iterable[Bytes | NewMessage]) -> int:
        """Load messages with COPY and answer how many."""
        return await self.queue.copy(messages, channel=self.name)

    async def purge(self, *, limit: int = 10_000) -> int:
        """Delete up to `limit` waiting messages of the channel, and answer how many."""
        return await self.queue.purge(self.name, limit=limit)

    async def peek(self, *, limit: int = 10) -> list[results.PeekedMessage]:
        """Look at its first messages and take none."""
        return await self.queue.peek(self.name, limit=limit)


class AsyncQueue(AsyncMethods):
    """A queue in one schema of a PostgreSQL database.

    With a DSN, the queue opens up to `max_connections` connections when calls need them, and can be used by many
    tasks. A call waits up to `timeout_ms` for a free connection, and then for its answer.
    `close` closes the idle connections.
    With a pool, each call borrows a connection.
    With a connection, each call joins the open transaction, or commits by itself if no transaction is open.
    A method with `using` runs on the connection that you give, inside your transaction, and commits nothing.
    """

    def __init__(
        self,
        source: Any,
        *,
        schema: str = "lonnymq",
        max_connections: int = 10,
        timeout_ms: Duration | None = 30_000,
    ) -> None:
        super().__init__(
            source, schema=schema, max_connections=max_connections, timeout_ms=timeout_ms
        )
        self._cursors = DequeueCursors()
        self._waits = AsyncWaits(self._source, self.schema)

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
            remove_limit(connection)
            await install_async(connection, schema=self.schema, roles=roles)

    def channel(self, name: str) -> AsyncChannel:
        """Get a channel by name. Nothing is stored yet."""
        return AsyncChannel(checked_name("channel", name), self)

    async def set(self, **options: Unpack[QueueOptions]) -> results.QueueSetAnswer:
        """Set options of the queue and defaults of new channels. Options that you do not give stay as they are."""
        return await self._run(calls.queue_set(self.schema, options))

    async def channel_set(
        self, channel: str, **options: Unpack[ChannelOptions]
    ) -> results.ChannelSetAnswer:
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
        group: int | None = None,
        using: Any = None,
        **limits: Unpack[MessageLimits],
    ) -> results.CreateResult:
        """Add a message to a channel. Raises ChannelFull or ChannelRetiring if the channel rejects the message."""
        message = NewMessage(content, channel, dequeue_at, delay_ms, key, kind, headers, **limits)
        if tracing.PACKAGE in tracing.modules:
            with tracing.creating(self.schema, message, self._source) as (carrying, span):
                created = await self._run(
                    calls.message_create(self.schema, carrying, group=group), using
                )
                tracing.set_message_id(span, created)
                return created
        return await self._run(calls.message_create(self.schema, message, group=group), using)

    async def create_many(
        self,
        messages: Iterable[Bytes | NewMessage],
        *,
        channel: str | None = None,
        group: int | None = None,
        using: Any = None,
    ) -> list[results.CreateManyResult]:
        """Add many messages in one call, in this order. Each message has a result, and rejections are not raised."""
        if tracing.PACKAGE in tracing.modules:
            with tracing.creating_many(self.schema, messages, NewMessage, self._source) as carrying:
                call = calls.message_create_many(
                    self.schema, carrying, channel=channel, group=group
                )
                return await self._run(call, using)
        return await self._run(
            calls.message_create_many(self.schema, messages, channel=channel, group=group), using
        )

    async def copy(
        self, messages: Iterable[Bytes | NewMessage], *, channel: str | None = None
    ) -> int:
        """Load messages with COPY and answer how many. COPY does not look at the capacity of channels."""
        if tracing.PACKAGE in tracing.modules:
            with tracing.creating_many(self.schema, messages, NewMessage, self._source) as carrying:
                return await copy_messages(
                    self._source, Bulk(self.schema, carrying, channel=channel)
                )
        return await copy_messages(self._source, Bulk(self.schema, messages, channel=channel))

    @asynccontextmanager
    async def group(
        self,
        channel: str,
        content: Bytes,
        *,
        kind: str | None = None,
        headers: Mapping[str, Any] | None = None,
        using: Any = None,
    ) -> AsyncIterator[int]:
        """Create a group, give its id to the block, and seal the group when the block has ended without an error.

        The message given here is created when all messages with this `group` have ended.
        """
        group = await self.group_create(channel, content, kind=kind, headers=headers, using=using)
        yield group
        await self.group_seal(group, using=using)

    async def wait(
        self, message_id: int, *, timeout_ms: Duration | None = None
    ) -> results.MessageStatus:
        """Wait until a message has ended, and tell what became of it. Raises WaitTimeout after `timeout_ms`."""
        [status] = await self._waits.wait([identifier("message_id", message_id)], timeout_ms)
        return status

    async def wait_many(
        self, message_ids: Iterable[int], *, timeout_ms: Duration | None = None
    ) -> list[results.MessageStatus]:
        """Wait until all of these messages have ended. The answers have the order of the ids."""
        return await self._waits.wait(identifiers("message_ids", message_ids), timeout_ms)

    async def dequeue(
        self,
        limit: int = 1,
        *,
        lease_ms: Duration = 30_000,
        worker: str | None = None,
        kinds: Collection[str | None] | None = None,
        channels: Collection[str] | None = None,
    ) -> results.Batch[AsyncMessage]:
        """Lease up to `limit` messages, fair to all channels. An empty batch says why, and when to dequeue again.

        `kinds` selects messages by kind, None among the kinds is messages without a kind. `channels` selects channels.
        """
        for pause in retry_pauses():
            batch = await self._dequeue_once(limit, lease_ms, worker, kinds, channels)
            if batch.reason != "contended":
                break
            await asyncio.sleep(pause)
        return batch

    async def _dequeue_once(
        self,
        limit: int,
        lease_ms: Duration,
        worker: str | None,
        kinds: Collection[str | None] | None,
        channels: Collection[str] | None,
    ) -> results.Batch[AsyncMessage]:
        asked = None if kinds is None and channels is None else (repr(kinds), repr(channels))
        with self._cursors.lend(asked) as cursor:
            call = calls.message_dequeue(
                self.schema,
                partial(AsyncMessage, queue=self),
                limit=limit,
                lease_ms=lease_ms,
                worker=worker,
                cursor=cursor.position,
                kinds=kinds,
                channels=channels,
            )
            dequeued = await run_dequeue(self._source, call)
            cursor.position = dequeued.cursor
        return dequeued.batch
