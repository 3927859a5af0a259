# scripts/make_sync.py writes this file from _async/queue.py: do not edit it.
"""The queue for synchronous code: one method a SQL function, over a DSN, a pool or a connection."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Self, Unpack

from lonnymq import tracing
from lonnymq.client import calls
from lonnymq.client._sync.connections import copy_in, run_dequeue
from lonnymq.client._sync.handles import Channel, Message
from lonnymq.client._sync.install import install
from lonnymq.client._sync.methods import Methods
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


class Queue(Methods):
    """A queue in one schema of a PostgreSQL database.

    Over a DSN it opens connections as it needs them and may be used from many threads; `close` closes the idle ones.
    Over a pool each call borrows a connection.
    Over a connection each call joins the transaction that is open on it, or commits by itself if none is.
    Where a method takes `using`, it runs on that connection, inside the caller's transaction, and commits nothing.
    """

    def __init__(self, source: Any, *, schema: str = "lonnymq") -> None:
        super().__init__(source, schema=schema)
        self._cursors = DequeueCursors()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the idle connections that were opened here; what the caller gave stays open."""
        self._source.close()

    def install(self, *, roles: bool | None = None) -> None:
        """Bring the schema to this version of the library; any number of processes may do so at once.

        With `roles` its functions are granted to roles by what each is for; unsaid, that stays as it is.
        """
        with self._source.connection() as connection:
            install(connection, schema=self.schema, roles=roles)

    def channel(self, name: str) -> Channel:
        """A channel by name, to say things of it; nothing is stored yet."""
        return Channel(checked_name("channel", name), self)

    def set(self, **options: Unpack[QueueOptions]) -> QueueSetAnswer:
        """Set the queue's policy and the defaults of new channels; what is not given stays."""
        return self._run(calls.queue_set(self.schema, options))

    def channel_set(self, channel: str, **options: Unpack[ChannelOptions]) -> ChannelSetAnswer:
        """Set a channel's policy; what is not given stays."""
        return self._run(calls.channel_set(self.schema, channel, options))

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
                return copy_in(self._source, Bulk(self.schema, carrying, channel=channel))
        return copy_in(self._source, Bulk(self.schema, messages, channel=channel))

    def dequeue(
        self, limit: int = 1, *, lease_ms: Duration = 30_000, worker: str | None = None
    ) -> Batch[Message]:
        """Lease up to `limit` messages, fair to all channels; an empty batch says why and when to look again."""
        for pause in retry_pauses():
            batch = self._dequeue_once(limit, lease_ms, worker)
            if batch.why != "contended":
                break
            time.sleep(pause)
        return batch

    def _dequeue_once(self, limit: int, lease_ms: Duration, worker: str | None) -> Batch[Message]:
        with self._cursors.lend() as cursor:
            call = calls.message_dequeue(
                self.schema,
                partial(Message, queue=self),
                limit=limit,
                lease_ms=lease_ms,
                worker=worker,
                cursor=cursor.position,
            )
            dequeued = run_dequeue(self._source, call)
            cursor.position = dequeued.cursor
        return dequeued.batch
