# scripts/make_sync.py writes this file from _async/handles.py: do not edit it.
"""A message and a channel as a Queue hands them out: its methods, said of the one thing at hand."""

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
    ReleaseAnswer,
    ResumeAnswer,
)

if TYPE_CHECKING:
    from lonnymq.client._sync.queue import Queue


@dataclass(slots=True, eq=False)
class Message(LeasedMessage):
    """A leased message: settle it before `lease_until`, or extend the lease."""

    queue: Queue = field(repr=False)

    def heartbeat(self, lease_ms: Duration = 30_000) -> HeartbeatAnswer:
        """Extend the lease to so long from now."""
        return self.queue.heartbeat(self, lease_ms=lease_ms)

    def complete(self, *, using: Any = None) -> CompleteAnswer:
        """Be done with it; `using` your connection, when your transaction commits."""
        return self.queue.complete(self, using=using)

    def defer(
        self,
        *,
        delay_ms: Duration | None = None,
        dequeue_at: Moment | None = None,
        state: Bytes | None = None,
        using: Any = None,
    ) -> DeferAnswer:
        """Put it back for later, keeping `state` for whoever takes it next; no attempt is used up."""
        return self.queue.defer(
            self, delay_ms=delay_ms, dequeue_at=dequeue_at, state=state, using=using
        )

    def fail(
        self,
        error: str | BaseException | None = None,
        *,
        retry_ms: Duration | None = None,
        dead: bool = False,
        using: Any = None,
    ) -> FailAnswer:
        """Give up on this attempt: it is retried by its channel's policy or after `retry_ms`, or is dead."""
        return self.queue.fail(self, error=error, retry_ms=retry_ms, dead=dead, using=using)


@dataclass(frozen=True, slots=True)
class Channel:
    """One tenant's channel by name; it exists from its first message, or once it is set."""

    name: str
    queue: Queue = field(repr=False)

    def set(self, **options: Unpack[ChannelOptions]) -> ChannelSetAnswer:
        """Set its policy; what is not given stays."""
        return self.queue.channel_set(self.name, **options)

    def pause(self) -> PauseAnswer:
        """Stop handing out its messages."""
        return self.queue.channel_pause(self.name)

    def resume(self) -> ResumeAnswer:
        """Hand out its messages again."""
        return self.queue.channel_resume(self.name)

    def release(self) -> ReleaseAnswer:
        """Retire it: no new messages, gone when drained."""
        return self.queue.channel_release(self.name)

    def stats(self) -> ChannelStats | None:
        """Its figures, or None if there is no such channel."""
        return next(iter(self.queue.channel_stats(self.name)), None)

    def create(
        self,
        content: Bytes,
        *,
        delay_ms: Duration | None = None,
        dequeue_at: Moment | None = None,
        name: str | None = None,
        kind: str | None = None,
        headers: Mapping[str, Any] | None = None,
        using: Any = None,
    ) -> CreateResult:
        """Add a message; `using` your connection, it is there when your transaction commits."""
        return self.queue.create(
            self.name,
            content,
            delay_ms=delay_ms,
            dequeue_at=dequeue_at,
            name=name,
            kind=kind,
            headers=headers,
            using=using,
        )

    def create_many(
        self, messages: Iterable[Bytes | NewMessage], *, using: Any = None
    ) -> list[CreateManyResult]:
        """Add many messages in one call, in this order; each has its result, and none is raised."""
        return self.queue.create_many(messages, channel=self.name, using=using)

    def copy(self, messages: Iterable[Bytes | NewMessage]) -> int:
        """Load messages in bulk by COPY."""
        return self.queue.copy(messages, channel=self.name)

    def purge(self, *, limit: int = 10_000) -> int:
        """Delete its waiting messages, at most `limit`, and say how many."""
        return self.queue.purge(self.name, limit=limit)

    def peek(self, *, limit: int = 10) -> list[PeekedMessage]:
        """Look at its first messages and take none."""
        return self.queue.peek(self.name, limit=limit)
