"""The message and the channel of an AsyncQueue: its methods, with the message or the channel filled in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Unpack

from lonnymq.client.arguments import Bytes, Duration, Moment
from lonnymq.client.new_message import NewMessage
from lonnymq.client.options import ChannelOptions
from lonnymq.results import (
    ChannelSetAnswer,
    ChannelStats,
    CompleteAnswer,
    CreateManyResult,
    CreateResult,
    DeferAnswer,
    FailAnswer,
    HeartbeatAnswer,
    LeasedMessage,
    PauseAnswer,
    PeekedMessage,
    ResumeAnswer,
    RetireAnswer,
)

if TYPE_CHECKING:
    from lonnymq.client._async.queue import AsyncQueue


@dataclass(slots=True, eq=False)
class AsyncMessage(LeasedMessage):
    """A leased message: complete, defer or fail the message before `lease_until`, or extend the lease."""

    queue: AsyncQueue = field(repr=False)

    async def heartbeat(self, lease_ms: Duration = 30_000) -> HeartbeatAnswer:
        """Extend the lease to `lease_ms` from now."""
        return await self.queue.heartbeat(self, lease_ms=lease_ms)

    async def complete(self, *, using: Any = None) -> CompleteAnswer:
        """Complete the message. With `using`, the message is completed when your transaction commits."""
        return await self.queue.complete(self, using=using)

    async def defer(
        self,
        *,
        delay_ms: Duration | None = None,
        dequeue_at: Moment | None = None,
        state: Bytes | None = None,
        using: Any = None,
    ) -> DeferAnswer:
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
    ) -> FailAnswer:
        """Fail this attempt. The message is retried after `retry_ms` or as the channel says, or is dead."""
        return await self.queue.fail(self, error=error, retry_ms=retry_ms, dead=dead, using=using)


@dataclass(frozen=True, slots=True)
class AsyncChannel:
    """One tenant's channel by name. The channel exists from the first message on, or once you set options."""

    name: str
    queue: AsyncQueue = field(repr=False)

    async def set(self, **options: Unpack[ChannelOptions]) -> ChannelSetAnswer:
        """Set options of the channel. Options that you do not give stay as they are."""
        return await self.queue.channel_set(self.name, **options)

    async def pause(self) -> PauseAnswer:
        """Stop the channel: no message is dequeued until you resume the channel."""
        return await self.queue.channel_pause(self.name)

    async def resume(self) -> ResumeAnswer:
        """Resume the channel."""
        return await self.queue.channel_resume(self.name)

    async def retire(self) -> RetireAnswer:
        """Retire the channel: the channel takes no new messages and is removed when the last message is done."""
        return await self.queue.channel_retire(self.name)

    async def stats(self) -> ChannelStats | None:
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
        using: Any = None,
    ) -> CreateResult:
        """Add a message. With `using`, the message is created when your transaction commits."""
        return await self.queue.create(
            self.name,
            content,
            delay_ms=delay_ms,
            dequeue_at=dequeue_at,
            key=key,
            kind=kind,
            headers=headers,
            using=using,
        )

    async def create_many(
        self, messages: Iterable[Bytes | NewMessage], *, using: Any = None
    ) -> list[CreateManyResult]:
        """Add many messages in one call, in this order. Each message has a result, and rejections are not raised."""
        return await self.queue.create_many(messages, channel=self.name, using=using)

    async def copy(self, messages: Iterable[Bytes | NewMessage]) -> int:
        """Load messages with COPY and answer how many."""
        return await self.queue.copy(messages, channel=self.name)

    async def purge(self, *, limit: int = 10_000) -> int:
        """Delete up to `limit` waiting messages of the channel, and answer how many."""
        return await self.queue.purge(self.name, limit=limit)

    async def peek(self, *, limit: int = 10) -> list[PeekedMessage]:
        """Look at its first messages and take none."""
        return await self.queue.peek(self.name, limit=limit)
