"""How messages come into the queue: one, many, in bulk."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from lonnymq import calls, connections, connections_async, tracing
from lonnymq.calls import Bytes, Duration, Moment, NewMessage
from lonnymq.methods.base import AsyncBase, Base
from lonnymq.results import CreateManyResult, CreateResult


class CreateMethods(Base):
    """How messages come into the queue: one, many, in bulk."""

    def create(
        self,
        channel: str,
        content: Bytes,
        *,
        delay_ms: Duration | None = None,
        dequeue_at: Moment | None = None,
        name: str | None = None,
        kind: str | None = None,
        headers: Mapping[str, Any] | None = None,
        using: Any = None,
    ) -> CreateResult:
        """Add a message to a channel; raises ChannelFull or ChannelReleasing if the channel refuses it."""
        message = NewMessage(content, channel, dequeue_at, delay_ms, name, kind, headers)
        if tracing.PACKAGE in tracing.modules:
            with tracing.creating(self.schema, message) as carrying:
                return self._run(calls.message_create(self.schema, carrying), using)
        return self._run(calls.message_create(self.schema, message), using)

    def create_many(
        self,
        messages: Iterable[Bytes | NewMessage],
        *,
        channel: str | None = None,
        using: Any = None,
    ) -> list[CreateManyResult]:
        """Add many messages in one call, in this order; each has its result, and none is raised."""
        if tracing.PACKAGE in tracing.modules:
            with tracing.creating_many(self.schema, messages, NewMessage) as carrying:
                call = calls.message_create_many(self.schema, carrying, channel=channel)
                return self._run(call, using)
        return self._run(calls.message_create_many(self.schema, messages, channel=channel), using)

    def copy(self, messages: Iterable[Bytes | NewMessage], *, channel: str | None = None) -> int:
        """Load messages in bulk by COPY, past any capacity; say how many."""
        if tracing.PACKAGE in tracing.modules:
            with tracing.creating_many(self.schema, messages, NewMessage) as carrying:
                bulk = calls.Bulk(self.schema, carrying, channel=channel)
                return connections.copy_in(self._source, bulk)
        return connections.copy_in(self._source, calls.Bulk(self.schema, messages, channel=channel))


class AsyncCreateMethods(AsyncBase):
    """How messages come into the queue: one, many, in bulk."""

    async def create(
        self,
        channel: str,
        content: Bytes,
        *,
        delay_ms: Duration | None = None,
        dequeue_at: Moment | None = None,
        name: str | None = None,
        kind: str | None = None,
        headers: Mapping[str, Any] | None = None,
        using: Any = None,
    ) -> CreateResult:
        """Add a message to a channel; raises ChannelFull or ChannelReleasing if the channel refuses it."""
        message = NewMessage(content, channel, dequeue_at, delay_ms, name, kind, headers)
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
        """Add many messages in one call, in this order; each has its result, and none is raised."""
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
        """Load messages in bulk by COPY, past any capacity; say how many."""
        if tracing.PACKAGE in tracing.modules:
            with tracing.creating_many(self.schema, messages, NewMessage) as carrying:
                bulk = calls.Bulk(self.schema, carrying, channel=channel)
                return await connections_async.copy_in(self._source, bulk)
        return await connections_async.copy_in(
            self._source, calls.Bulk(self.schema, messages, channel=channel)
        )
