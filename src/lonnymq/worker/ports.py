"""Where contexts reach the database: connections for handlers' own transactions, apart from the worker's."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import cached_property
from typing import Any

from psycopg import AsyncConnection, Connection

from lonnymq.client import AsyncQueue, Queue, calls
from lonnymq.client._async import connections as connections_async
from lonnymq.client._sync import connections
from lonnymq.client.arguments import Duration
from lonnymq.client.call import Call
from lonnymq.results import Heartbeat
from lonnymq.worker.context import Context, Facts, SyncContext
from lonnymq.worker.outcomes import COMPLETE, LeaseLost
from lonnymq.worker.statements import Answers, by_kind, settle

PREPARE_AFTER = 5  # psycopg's own habit: a handler's statements are not ours to prepare at once


class AsyncPort:
    """Serves the contexts of async handlers."""

    def __init__(self, dsn: str, *, schema: str, lease_ms: int) -> None:
        self.schema, self.lease_ms, self.dsn = schema, lease_ms, dsn
        self.source = connections_async.AsyncDsnSource(dsn)

    @cached_property
    def queue(self) -> AsyncQueue:
        """A queue for handlers to create in."""
        return AsyncQueue(self.dsn, schema=self.schema)

    async def heartbeat(self, context: Context, lease_ms: Duration | None) -> None:
        """Extend one lease."""
        call = extension(self, context, lease_ms)
        extended(self, context, await connections_async.run(self.source, call))

    @asynccontextmanager
    async def transaction(self, contexts: Sequence[Context]) -> AsyncIterator[AsyncConnection[Any]]:
        """Lend a connection in a transaction, and settle the messages in it before it commits."""
        async with self.source.connection() as connection:
            prepare_later(connection)
            async with connection.transaction():
                yield connection
                with committing(contexts):
                    answers = [
                        await connections_async.run_on(connection, call, prepare=None)
                        for call in settlements(self.schema, contexts)
                    ]
                    refuse_lost(contexts, answers)
        committed(contexts)

    async def close(self) -> None:
        """Close what is idle."""
        await self.source.close()
        if "queue" in self.__dict__:
            await self.queue.close()


class SyncPort:
    """Serves the contexts of plain functions, from any thread."""

    def __init__(self, dsn: str, *, schema: str, lease_ms: int) -> None:
        self.schema, self.lease_ms, self.dsn = schema, lease_ms, dsn
        self.source = connections.DsnSource(dsn)

    @cached_property
    def queue(self) -> Queue:
        """A queue for handlers to create in."""
        return Queue(self.dsn, schema=self.schema)

    def heartbeat(self, context: SyncContext, lease_ms: Duration | None) -> None:
        """Extend one lease."""
        call = extension(self, context, lease_ms)
        extended(self, context, connections.run(self.source, call))

    @contextmanager
    def transaction(self, contexts: Sequence[SyncContext]) -> Iterator[Connection[Any]]:
        """Lend a connection in a transaction, and settle the messages in it before it commits."""
        with self.source.connection() as connection:
            prepare_later(connection)
            with connection.transaction():
                yield connection
                with committing(contexts):
                    answers = [
                        connections.run_on(connection, call, prepare=None)
                        for call in settlements(self.schema, contexts)
                    ]
                    refuse_lost(contexts, answers)
        committed(contexts)

    def close(self) -> None:
        """Close what is idle."""
        self.source.close()
        if "queue" in self.__dict__:
            self.queue.close()


def prepare_later(connection: AsyncConnection[Any] | Connection[Any]) -> None:
    """Leave it to psycopg when to prepare a handler's statements; behind a pooler never."""
    if connection.prepare_threshold is not None:
        connection.prepare_threshold = PREPARE_AFTER


def extension(
    port: AsyncPort | SyncPort, context: Facts, lease_ms: Duration | None
) -> Call[list[Heartbeat]]:
    """The heartbeat of one lease."""
    context.check()
    until = port.lease_ms if lease_ms is None else lease_ms
    return calls.message_heartbeat_many(port.schema, [context.message], lease_ms=until)


def extended(port: AsyncPort | SyncPort, context: Facts, beats: list[Heartbeat]) -> None:
    """Take note of what became of a heartbeat; the worker's own come when the lease is as long as it makes them."""
    [beat] = beats
    if beat.lease_until is not None:
        longer = beat.lease_until - context.lease_until
        context.lease_until = beat.lease_until
        context.taken += max(0, longer) / 1000
    elif beat.answer != "settling":
        context.lost = True
    context.check()


def settlements(schema: str, contexts: Sequence[Facts]) -> list[Call[Answers]]:
    """The statements that settle a transaction's messages: as each context says, else done."""
    named = [(context.message, context.outcome or COMPLETE) for context in contexts]
    return [settle(schema, group) for group in by_kind(named)]


@contextmanager
def committing(contexts: Sequence[Facts]) -> Iterator[None]:
    """From here on a heartbeat that finds no lease means nothing: the lease may have ended with our own commit."""
    for context in contexts:
        context.committing = True
    try:
        yield
    except BaseException:
        for context in contexts:
            context.committing = False
        raise


def refuse_lost(contexts: Sequence[Facts], answers: list[Answers]) -> None:
    """Undo the transaction if one of its messages is another's by now."""
    if any(word in ("lease_lost", "not_found") for group in answers for word, _ in group):
        ids = ", ".join(str(context.id) for context in contexts)
        raise LeaseLost(f"nothing was committed, the lease is lost of one of these messages: {ids}")


def committed(contexts: Sequence[Facts]) -> None:
    """Remember that nothing is left to settle."""
    for context in contexts:
        context.outcome = context.outcome or COMPLETE
        context.settled = SETTLED[type(context.outcome).__name__]


SETTLED = {"Complete": "completed", "Defer": "deferred", "Fail": "failed"}
