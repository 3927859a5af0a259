"""What a handler is told of its message, and what it may ask for: `Context`, and `SyncContext` for plain functions."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from datetime import datetime
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
)
from lonnymq.results import LeasedMessage
from lonnymq.worker.outcomes import Fail, LeaseLost, Outcome, deferred

if TYPE_CHECKING:
    from lonnymq.client import AsyncQueue, Queue
    from lonnymq.worker.ports import AsyncPort, SyncPort


class Facts:
    """What both kinds of context know of one message while a handler has it.

    `lost`: the lease is another's. `stopping`: the worker was told to stop, so a long handler had better defer.
    `error`: what the handler raised.
    """

    __slots__ = (
        "began",
        "committing",
        "ended",
        "error",
        "lease_until",
        "lost",
        "message",
        "outcome",
        "settled",
        "stopping",
        "taken",
    )

    def __init__(self, message: LeasedMessage, taken: float | None = None) -> None:
        self.message = message
        self.lease_until = message.lease_until
        self.lost = self.committing = self.stopping = False
        self.outcome: Outcome | None = None
        self.settled: str | None = None
        self.error: BaseException | None = None
        self.began = self.ended = 0.0
        self.taken = (
            monotonic() if taken is None else taken
        )  # when the lease was at its full length

    @property
    def id(self) -> int:
        """The message's id."""
        return self.message.id

    @property
    def channel(self) -> str:
        """The channel that it is from."""
        return self.message.channel

    @property
    def kind(self) -> str | None:
        """Its kind."""
        return self.message.kind

    @property
    def name(self) -> str | None:
        """Its name, if it has one."""
        return self.message.name

    @property
    def attempt(self) -> int:
        """Which attempt this is; the first is 1."""
        return self.message.attempt

    @property
    def headers(self) -> Mapping[str, Any]:
        """Its headers."""
        return self.message.headers or {}

    @property
    def state(self) -> bytes | None:
        """What the last defer left."""
        return self.message.state

    @property
    def elapsed_ms(self) -> float:
        """How long the handler took, once it has ended."""
        return (self.ended - self.began) * 1000

    @property
    def deadline(self) -> datetime:
        """When the lease ends by the database's clock, unless a heartbeat comes before: the worker sends them."""
        return EPOCH + self.lease_until * MILLISECOND

    def defer(
        self,
        *,
        delay_ms: Duration | None = None,
        dequeue_at: Moment | None = None,
        state: Bytes | None = None,
    ) -> None:
        """Have the message put back for later when the handler returns, with state; no attempt is used up."""
        self.outcome = deferred(delay_ms, dequeue_at, state)

    def fail(self, error: str | BaseException, *, retry_ms: Duration | None = None) -> None:
        """Have this attempt count as failed when the handler returns; in a batch, for this message alone."""
        self.outcome = Fail(error_text(error), optional(milliseconds, "retry_ms", retry_ms))

    def dead(self, reason: str | BaseException) -> None:
        """Have the message given up for good when the handler returns."""
        self.outcome = Fail(error_text(reason), dead=True)

    def check(self) -> None:
        """Raise LeaseLost if the lease is lost."""
        if self.lost:
            raise LeaseLost(f"the lease of message {self.id} is lost: {LeaseLost.__doc__}")


class Context(Facts):
    """The context of an async handler."""

    __slots__ = ("_port",)

    def __init__(self, message: LeasedMessage, port: AsyncPort, taken: float | None = None) -> None:
        Facts.__init__(self, message, taken)
        self._port = port

    @property
    def queue(self) -> AsyncQueue:
        """The queue, to create further messages in."""
        return self._port.queue

    async def heartbeat(self, lease_ms: Duration | None = None) -> None:
        """Extend the lease now, to so long from now; raises LeaseLost if it is another's."""
        await self._port.heartbeat(self, lease_ms)

    def transaction(self) -> AbstractAsyncContextManager[AsyncConnection[Any]]:
        """A transaction for the handler's own writes, which commits together with the message's completion."""
        return self._port.transaction((self,))


class SyncContext(Facts):
    """The context of a handler that is a plain function."""

    __slots__ = ("_port",)

    def __init__(self, message: LeasedMessage, port: SyncPort, taken: float | None = None) -> None:
        Facts.__init__(self, message, taken)
        self._port = port

    @property
    def queue(self) -> Queue:
        """The queue, to create further messages in."""
        return self._port.queue

    def heartbeat(self, lease_ms: Duration | None = None) -> None:
        """Extend the lease now, to so long from now; raises LeaseLost if it is another's."""
        self._port.heartbeat(self, lease_ms)

    def transaction(self) -> AbstractContextManager[Connection[Any]]:
        """A transaction for the handler's own writes, which commits together with the message's completion."""
        return self._port.transaction((self,))


class Contexts(tuple[Context, ...]):
    """The contexts of a batch, in the order of its payloads."""

    __slots__ = ()

    def transaction(self) -> AbstractAsyncContextManager[AsyncConnection[Any]]:
        """A transaction that commits together with the completion of the whole batch."""
        return self[0]._port.transaction(self)


class SyncContexts(tuple[SyncContext, ...]):
    """The contexts of a batch that a plain function was given."""

    __slots__ = ()

    def transaction(self) -> AbstractContextManager[Connection[Any]]:
        """A transaction that commits together with the completion of the whole batch."""
        return self[0]._port.transaction(self)
