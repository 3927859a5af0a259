"""What becomes of a lease: extended, completed, deferred, failed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lonnymq import calls
from lonnymq.calls import Bytes, Duration, Moment
from lonnymq.methods.base import AsyncBase, Base
from lonnymq.results import (
    CompleteAnswer,
    Completed,
    DeferAnswer,
    Deferred,
    FailAnswer,
    Failed,
    Heartbeat,
    HeartbeatAnswer,
    Leased,
)


class SettleMethods(Base):
    """What becomes of a lease: extended, completed, deferred, failed."""

    def heartbeat(self, message: Leased, *, lease_ms: Duration = 30_000) -> HeartbeatAnswer:
        """Extend a lease to so long from now."""
        return self._run(calls.message_heartbeat(self.schema, message, lease_ms=lease_ms))

    def heartbeat_many(
        self, messages: Iterable[Leased], *, lease_ms: Duration = 30_000
    ) -> list[Heartbeat]:
        """Extend many leases in one call."""
        return self._run(calls.message_heartbeat_many(self.schema, messages, lease_ms=lease_ms))

    def complete(self, message: Leased, *, using: Any = None) -> CompleteAnswer:
        """Be done with a message."""
        return self._run(calls.message_complete(self.schema, message), using)

    def complete_many(self, messages: Iterable[Leased], *, using: Any = None) -> list[Completed]:
        """Be done with many messages in one call; one answer each, in this order."""
        return self._run(calls.message_complete_many(self.schema, messages), using)

    def defer(
        self,
        message: Leased,
        *,
        delay_ms: Duration | None = None,
        dequeue_at: Moment | None = None,
        state: Bytes | None = None,
        using: Any = None,
    ) -> DeferAnswer:
        """Put a message back for later, with state; no attempt is used up."""
        call = calls.message_defer(
            self.schema, message, delay_ms=delay_ms, dequeue_at=dequeue_at, state=state
        )
        return self._run(call, using)

    def defer_many(
        self,
        messages: Iterable[Leased],
        *,
        delay_ms: Duration | None = None,
        dequeue_at: Moment | None = None,
        state: Bytes | None = None,
        using: Any = None,
    ) -> list[Deferred]:
        """Put many messages back for later, all in the same way."""
        call = calls.message_defer_many(
            self.schema, messages, delay_ms=delay_ms, dequeue_at=dequeue_at, state=state
        )
        return self._run(call, using)

    def fail(
        self,
        message: Leased,
        *,
        error: str | BaseException | None = None,
        retry_ms: Duration | None = None,
        dead: bool = False,
        using: Any = None,
    ) -> FailAnswer:
        """Give up on an attempt: retried by the channel's policy or after `retry_ms`, or dead."""
        call = calls.message_fail(self.schema, message, error=error, retry_ms=retry_ms, dead=dead)
        return self._run(call, using)

    def fail_many(
        self,
        messages: Iterable[Leased],
        *,
        error: str | BaseException | None = None,
        retry_ms: Duration | None = None,
        dead: bool = False,
        using: Any = None,
    ) -> list[Failed]:
        """Give up on an attempt of each of many messages, all for the same reason."""
        call = calls.message_fail_many(
            self.schema, messages, error=error, retry_ms=retry_ms, dead=dead
        )
        return self._run(call, using)


class AsyncSettleMethods(AsyncBase):
    """What becomes of a lease: extended, completed, deferred, failed."""

    async def heartbeat(self, message: Leased, *, lease_ms: Duration = 30_000) -> HeartbeatAnswer:
        """Extend a lease to so long from now."""
        return await self._run(calls.message_heartbeat(self.schema, message, lease_ms=lease_ms))

    async def heartbeat_many(
        self, messages: Iterable[Leased], *, lease_ms: Duration = 30_000
    ) -> list[Heartbeat]:
        """Extend many leases in one call."""
        return await self._run(
            calls.message_heartbeat_many(self.schema, messages, lease_ms=lease_ms)
        )

    async def complete(self, message: Leased, *, using: Any = None) -> CompleteAnswer:
        """Be done with a message."""
        return await self._run(calls.message_complete(self.schema, message), using)

    async def complete_many(
        self, messages: Iterable[Leased], *, using: Any = None
    ) -> list[Completed]:
        """Be done with many messages in one call; one answer each, in this order."""
        return await self._run(calls.message_complete_many(self.schema, messages), using)

    async def defer(
        self,
        message: Leased,
        *,
        delay_ms: Duration | None = None,
        dequeue_at: Moment | None = None,
        state: Bytes | None = None,
        using: Any = None,
    ) -> DeferAnswer:
        """Put a message back for later, with state; no attempt is used up."""
        call = calls.message_defer(
            self.schema, message, delay_ms=delay_ms, dequeue_at=dequeue_at, state=state
        )
        return await self._run(call, using)

    async def defer_many(
        self,
        messages: Iterable[Leased],
        *,
        delay_ms: Duration | None = None,
        dequeue_at: Moment | None = None,
        state: Bytes | None = None,
        using: Any = None,
    ) -> list[Deferred]:
        """Put many messages back for later, all in the same way."""
        call = calls.message_defer_many(
            self.schema, messages, delay_ms=delay_ms, dequeue_at=dequeue_at, state=state
        )
        return await self._run(call, using)

    async def fail(
        self,
        message: Leased,
        *,
        error: str | BaseException | None = None,
        retry_ms: Duration | None = None,
        dead: bool = False,
        using: Any = None,
    ) -> FailAnswer:
        """Give up on an attempt: retried by the channel's policy or after `retry_ms`, or dead."""
        call = calls.message_fail(self.schema, message, error=error, retry_ms=retry_ms, dead=dead)
        return await self._run(call, using)

    async def fail_many(
        self,
        messages: Iterable[Leased],
        *,
        error: str | BaseException | None = None,
        retry_ms: Duration | None = None,
        dead: bool = False,
        using: Any = None,
    ) -> list[Failed]:
        """Give up on an attempt of each of many messages, all for the same reason."""
        call = calls.message_fail_many(
            self.schema, messages, error=error, retry_ms=retry_ms, dead=dead
        )
        return await self._run(call, using)
