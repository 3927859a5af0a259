"""What a handler knows of its message and can ask for: `Context`, and `SyncContext` for plain functions."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from datetime import datetime
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Any

from psycopg import AsyncConnection, Connection

from lonnymq.client.arguments import (
    EPOCH,
    MILLISECOND,
    Bytes,
    Duration,
    Moment,
    error_text,
    milliseconds,
    optional,
    progress_note,
)
from lonnymq.client.arguments import progress as checked_progress
from lonnymq.results import LeasedMessage
from lonnymq.worker.outcomes import (
    COMPLETE,
    Complete,
    Fail,
    LeaseLost,
    Outcome,
    checked_defer,
)
from lonnymq.worker.result_bytes import DEFAULT_RESULT_BYTES, encode_result

if TYPE_CHECKING:
    from lonnymq.client import AsyncQueue, Queue
    from lonnymq.worker.handler_connections import AsyncHandlerConnections, SyncHandlerConnections


class HandlerContext:
    """What both kinds of context know of one message while a handler has the message.

    `lost`: another worker may have the lease. `stopping`: the worker stops, so a long handler should defer.
    `error`: the exception that the handler raised. `settled`: the answer, once the handler's own transaction settled
    the message. Times are of the monotonic clock.
    """

    __slots__ = (
        "committing",
        "ended_at",
        "error",
        "expires_at",
        "is_completed_by_handler",
        "lease_until",
        "leased_at",
        "lost",
        "max_result_bytes",
        "message",
        "new_progress",
        "outcome",
        "result_bytes",
        "settled",
        "started_at",
        "stopping",
    )

    def __init__(self, message: LeasedMessage, leased_at: float | None = None) -> None:
        self.message = message
        self.lease_until = message.lease_until
        self.lost = self.committing = self.stopping = self.is_completed_by_handler = False
        self.outcome: Outcome | None = None
        self.result_bytes: bytes | None = None
        self.new_progress: tuple[float, str | None] | None = None  # for the next heartbeat
        self.max_result_bytes = DEFAULT_RESULT_BYTES
        self.settled: str | None = None
        self.error: BaseException | None = None
        self.started_at = self.ended_at = 0.0
        # when the lease had its full length, and when the lease ends unless somebody extends it
        self.leased_at = monotonic() if leased_at is None else leased_at
        self.expires_at = inf

    @property
    def id(self) -> int:
        """The id of the message."""
        return self.message.id

    @property
    def channel(self) -> str:
        """The channel of the message."""
        return self.message.channel

    @property
    def kind(self) -> str | None:
        """The kind of the message."""
        return self.message.kind

    @property
    def key(self) -> str | None:
        """The key of the message, if any."""
        return self.message.key

    @property
    def attempt(self) -> int:
        """The number of this attempt. The first is 1."""
        return self.message.attempt

    @property
    def headers(self) -> Mapping[str, Any]:
        """The headers of the message."""
        return self.message.headers or {}

    @property
    def state(self) -> bytes | None:
        """The state that the last `defer` stored."""
        return self.message.state

    @property
    def elapsed_ms(self) -> float:
        """How long the handler took, after the handler has ended."""
        return (self.ended_at - self.started_at) * 1000

    @property
    def deadline(self) -> datetime:
        """When the lease ends by the database's clock. The worker extends the lease before."""
        return EPOCH + self.lease_until * MILLISECOND

    @property
    def result(self) -> bytes | None:
        """What is stored with the completion of the message. Set bytes, or a value that JSON can hold."""
        return self.result_bytes

    @result.setter
    def result(self, value: object) -> None:
        self.result_bytes = None if value is None else encode_result(value, self.max_result_bytes)

    def progress(self, share: float, note: str | None = None) -> None:
        """Say how far the work has come, from 0 to 1. The next heartbeat stores the last value, so call this often."""
        checked = optional(progress_note, "note", note)
        self.new_progress = (checked_progress("progress", share), checked)

    def completion(self) -> Complete:
        """The outcome of a handler that has ended and has stated no other outcome."""
        return COMPLETE if self.result_bytes is None else Complete(self.result_bytes)

    def defer(
        self,
        *,
        delay_ms: Duration | None = None,
        dequeue_at: Moment | None = None,
        state: Bytes | None = None,
    ) -> None:
        """Put the message back for later when the handler returns, with state. The attempt does not count."""
        self.outcome = checked_defer(delay_ms, dequeue_at, state)

    def fail(self, error: str | BaseException, *, retry_ms: Duration | None = None) -> None:
        """Fail this attempt when the handler returns. In a batch only this message fails."""
        self.outcome = Fail(error_text(error), optional(milliseconds, "retry_ms", retry_ms))

    def dead(self, reason: str | BaseException) -> None:
        """Give the message up when the handler returns."""
        self.outcome = Fail(error_text(reason), dead=True)

    def check(self) -> None:
        """Raise LeaseLost if the lease is lost."""
        if self.lost:
            raise LeaseLost(f"the lease of message {self.id} is lost. {LeaseLost.__doc__}")


class Context(HandlerContext):
    """The context of an async handler."""

    __slots__ = ("_connections",)

    def __init__(
        self,
        message: LeasedMessage,
        connections: AsyncHandlerConnections,
        leased_at: float | None = None,
    ) -> None:
        HandlerContext.__init__(self, message, leased_at)
        self._connections = connections

    @property
    def queue(self) -> AsyncQueue:
        """The queue, to create further messages."""
        return self._connections.queue

    async def heartbeat(self, lease_ms: Duration | None = None) -> None:
        """Extend the lease to `lease_ms` from now. Raises LeaseLost if the lease is lost."""
        await self._connections.heartbeat(self, lease_ms)

    async def complete(self, *, using: Any) -> None:
        """Complete the message on your own connection: your transaction and the completion commit together.

        Raises LeaseLost if the lease is lost: then let your transaction roll back.
        """
        await self._connections.complete((self,), using)

    def transaction(self) -> AbstractAsyncContextManager[AsyncConnection[Any]]:
        """Open a transaction for your own writes, which commits together with the completion of the message."""
        return self._connections.transaction((self,))


class SyncContext(HandlerContext):
    """The context of a handler that is a plain function."""

    __slots__ = ("_connections",)

    def __init__(
        self,
        message: LeasedMessage,
        connections: SyncHandlerConnections,
        leased_at: float | None = None,
    ) -> None:
        HandlerContext.__init__(self, message, leased_at)
        self._connections = connections

    @property
    def queue(self) -> Queue:
        """The queue, to create further messages."""
        return self._connections.queue

    def heartbeat(self, lease_ms: Duration | None = None) -> None:
        """Extend the lease to `lease_ms` from now. Raises LeaseLost if the lease is lost."""
        self._connections.heartbeat(self, lease_ms)

    def complete(self, *, using: Any) -> None:
        """Complete the message on your own connection: your transaction and the completion commit together.

        Raises LeaseLost if the lease is lost: then let your transaction roll back.
        """
        self._connections.complete((self,), using)

    def transaction(self) -> AbstractContextManager[Connection[Any]]:
        """Open a transaction for your own writes, which commits together with the completion of the message."""
        return self._connections.transaction((self,))


class Contexts(tuple[Context, ...]):
    """The contexts of a batch, in the order of its payloads."""

    __slots__ = ()

    async def complete(self, *, using: Any) -> None:
        """Complete the whole batch on your own connection: your transaction and the completion commit together.

        Raises LeaseLost if the lease is lost: then let your transaction roll back.
        """
        await self[0]._connections.complete(self, using)

    def transaction(self) -> AbstractAsyncContextManager[AsyncConnection[Any]]:
        """Open a transaction that commits together with the completion of the whole batch."""
        return self[0]._connections.transaction(self)


class SyncContexts(tuple[SyncContext, ...]):
    """The contexts of a batch for a plain function."""

    __slots__ = ()

    def complete(self, *, using: Any) -> None:
        """Complete the whole batch on your own connection: your transaction and the completion commit together.

        Raises LeaseLost if the lease is lost: then let your transaction roll back.
        """
        self[0]._connections.complete(self, using)

    def transaction(self) -> AbstractContextManager[Connection[Any]]:
        """Open a transaction that commits together with the completion of the whole batch."""
        return self[0]._connections.transaction(self)
