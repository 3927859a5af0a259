"""Database connections for handlers: their transactions, heartbeats and queue, apart from the worker's own calls."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from psycopg import AsyncConnection, Connection

from lonnymq.client import AsyncQueue, Queue, calls
from lonnymq.client._async import connections as connections_async
from lonnymq.client._async.pool import AsyncDsnSource
from lonnymq.client._sync import connections
from lonnymq.client._sync.pool import DsnSource
from lonnymq.client.adapters import run_using, run_using_async
from lonnymq.client.arguments import Duration
from lonnymq.client.call import Call
from lonnymq.client.calls.lease import Settled
from lonnymq.client.connection_state import MAX_CONNECTIONS, TIMEOUT_SECONDS, cut
from lonnymq.results import Heartbeat
from lonnymq.worker.context import Context, HandlerContext, SyncContext
from lonnymq.worker.outcomes import (
    OUTCOME_NAMES,
    LeaseLost,
    group_by_outcome,
    settle_call,
)

QUEUE_CONNECTIONS = 5  # for context.queue and context.heartbeat
PREPARE_AFTER = 5  # psycopg's default: only our own statements are prepared at once


class AsyncHandlerConnections:
    """Connections for the contexts of async handlers: `max_connections` for transactions, and a few for short calls.

    A handler may create messages and extend its lease inside its transaction, so that both have connections apart.
    """

    def __init__(
        self,
        dsn: str,
        *,
        schema: str,
        lease_ms: int,
        max_connections: int = MAX_CONNECTIONS,
        seconds: float = TIMEOUT_SECONDS,
    ) -> None:
        self.schema, self.lease_ms, self.seconds = schema, lease_ms, seconds
        self.source = AsyncDsnSource(dsn, max_connections=max_connections)
        self.queue = AsyncQueue(
            dsn, schema=schema, max_connections=QUEUE_CONNECTIONS, timeout_ms=int(seconds * 1000)
        )

    async def heartbeat(self, context: Context, lease_ms: Duration | None) -> None:
        """Extend one lease."""
        call = heartbeat_call(self.schema, context, self.lease_ms if lease_ms is None else lease_ms)
        record_heartbeat(context, await self.queue._run(call))

    async def complete(self, contexts: Sequence[Context], using: Any) -> None:
        """Settle the messages inside the transaction of the handler, which commits or not."""
        with mark_committing(contexts):
            answers = [
                await run_using_async(using, call) for call in settle_calls(self.schema, contexts)
            ]
            require_leases(contexts, answers)
        mark_settled(contexts)
        for context in contexts:
            context.is_completed_by_handler = True

    @asynccontextmanager
    async def transaction(self, contexts: Sequence[Context]) -> AsyncIterator[AsyncConnection[Any]]:
        """Lend a connection in a transaction, and settle the messages just before the commit."""
        async with self.source.connection() as connection:
            restore_prepare_threshold(connection)
            async with connection.transaction():
                connection.limit = None  # for the statements of the handler
                try:
                    yield connection
                finally:
                    connection.limit = self.seconds
                with mark_committing(contexts):
                    answers = [
                        await connections_async.run_on(connection, call, prepare=None)
                        for call in settle_calls(self.schema, contexts)
                    ]
                    require_leases(contexts, answers)
        mark_settled(contexts)

    async def trim(self) -> None:
        """Close the connections that nobody needed for a while."""
        await self.source.trim()
        await self.queue._source.trim()

    async def close(self) -> None:
        """Close the idle connections."""
        await self.source.close()
        await self.queue.close()


class SyncHandlerConnections:
    """The same for the contexts of plain functions, from any thread."""

    def __init__(
        self,
        dsn: str,
        *,
        schema: str,
        lease_ms: int,
        max_connections: int = MAX_CONNECTIONS,
        seconds: float = TIMEOUT_SECONDS,
    ) -> None:
        self.schema, self.lease_ms, self.seconds = schema, lease_ms, seconds
        self.source = DsnSource(dsn, max_connections=max_connections)
        self.queue = Queue(
            dsn, schema=schema, max_connections=QUEUE_CONNECTIONS, timeout_ms=int(seconds * 1000)
        )
        self.lent: dict[HandlerContext, Connection[Any]] = {}
        self.lock = threading.Lock()

    def heartbeat(self, context: SyncContext, lease_ms: Duration | None) -> None:
        """Extend one lease."""
        call = heartbeat_call(self.schema, context, self.lease_ms if lease_ms is None else lease_ms)
        record_heartbeat(context, self.queue._run(call))

    def complete(self, contexts: Sequence[SyncContext], using: Any) -> None:
        """Settle the messages inside the transaction of the handler, which commits or not."""
        with mark_committing(contexts):
            answers = [run_using(using, call) for call in settle_calls(self.schema, contexts)]
            require_leases(contexts, answers)
        mark_settled(contexts)
        for context in contexts:
            context.is_completed_by_handler = True

    @contextmanager
    def transaction(self, contexts: Sequence[SyncContext]) -> Iterator[Connection[Any]]:
        """Lend a connection in a transaction, and settle the messages just before the commit."""
        with self.source.connection() as connection, self.lend_connection(contexts, connection):
            restore_prepare_threshold(connection)
            with connection.transaction():
                connection.limit = None  # for the statements of the handler
                try:
                    yield connection
                finally:
                    connection.limit = self.seconds
                with mark_committing(contexts):
                    answers = [
                        connections.run_on(connection, call, prepare=None)
                        for call in settle_calls(self.schema, contexts)
                    ]
                    require_leases(contexts, answers)
        mark_settled(contexts)

    @contextmanager
    def lend_connection(
        self, contexts: Sequence[SyncContext], connection: Connection[Any]
    ) -> Iterator[None]:
        """Note which connection handlers have."""
        with self.lock:
            self.lent |= dict.fromkeys(contexts, connection)
        try:
            yield
        finally:
            with self.lock:
                for context in contexts:
                    self.lent.pop(context, None)

    def cut(self, context: HandlerContext) -> None:
        """Cut the connection of a handler's transaction, which ends a statement that nobody answers."""
        with self.lock:
            if context in self.lent:
                cut(self.lent[context])

    def trim(self) -> None:
        """Close the connections that nobody needed for a while."""
        self.source.trim()
        self.queue._source.trim()

    def close(self) -> None:
        """Close the idle connections."""
        self.source.close()
        self.queue.close()


def restore_prepare_threshold(connection: AsyncConnection[Any] | Connection[Any]) -> None:
    """Let psycopg decide when to prepare a handler's statements. Behind a pooler nothing is prepared."""
    if connection.prepare_threshold is not None:
        connection.prepare_threshold = PREPARE_AFTER


def heartbeat_call(
    schema: str, context: HandlerContext, lease_ms: Duration
) -> Call[list[Heartbeat]]:
    """Build the heartbeat of one lease."""
    context.check()
    return calls.message_heartbeat_many(schema, [context.message], lease_ms=lease_ms)


def record_heartbeat(context: HandlerContext, beats: list[Heartbeat]) -> None:
    """Note the answer to a heartbeat. The worker's own heartbeats wait until the lease has its usual length."""
    [beat] = beats
    if beat.lease_until is not None:
        longer = beat.lease_until - context.lease_until
        context.lease_until = beat.lease_until
        context.leased_at += max(0, longer) / 1000
        context.expires_at += longer / 1000
    elif beat.answer != "settling":
        context.lost = True
    context.check()


def settle_calls(schema: str, contexts: Sequence[HandlerContext]) -> list[Call[Settled]]:
    """Build the calls that settle the messages of a transaction: by each context's outcome, else completed."""
    settlements = [
        (context.message, context.outcome or context.completion()) for context in contexts
    ]
    return [settle_call(schema, group) for group in group_by_outcome(settlements)]


@contextmanager
def mark_committing(contexts: Sequence[HandlerContext]) -> Iterator[None]:
    """Mark that a heartbeat which finds no lease means nothing: our own commit may have ended the lease."""
    for context in contexts:
        context.committing = True
    try:
        yield
    except BaseException:
        for context in contexts:
            context.committing = False
        raise


def require_leases(contexts: Sequence[HandlerContext], answers: list[Settled]) -> None:
    """Undo the transaction if the lease of one of the messages is lost."""
    if any(answer in ("lease_lost", "not_found") for group in answers for answer, _ in group):
        ids = ", ".join(str(context.id) for context in contexts)
        raise LeaseLost(f"nothing was committed: a lease is lost among messages {ids}")


def mark_settled(contexts: Sequence[HandlerContext]) -> None:
    """Mark that nothing is left to settle."""
    for context in contexts:
        context.outcome = context.outcome or context.completion()
        context.settled = OUTCOME_NAMES[type(context.outcome)]
