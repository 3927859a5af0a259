"""Runs registered handlers in the calling thread, for programs that dequeue and settle messages themselves."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Self

from lonnymq.client._sync import connections
from lonnymq.client.adapters import run_using
from lonnymq.results import LeasedMessage
from lonnymq.worker.context import Context, HandlerContext, SyncContext
from lonnymq.worker.execution import execute, execute_sync, fail_without_handler
from lonnymq.worker.handler_connections import AsyncHandlerConnections, SyncHandlerConnections
from lonnymq.worker.handlers import Handler, Handlers
from lonnymq.worker.outcomes import Outcome, Settlement, group_by_outcome, settle_call


class SyncRunner:
    """Runs handlers one after another. Only the handlers themselves extend leases."""

    def __init__(
        self, handlers: Handlers, dsn: str, *, schema: str = "lonnymq", lease_ms: int = 30_000
    ) -> None:
        self.handlers, self.schema = handlers, schema
        self.sync_connections = SyncHandlerConnections(dsn, schema=schema, lease_ms=lease_ms)
        self.async_connections = AsyncHandlerConnections(dsn, schema=schema, lease_ms=lease_ms)
        self.runner = asyncio.Runner()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections and the event loop."""
        self.runner.run(self.async_connections.close())
        self.runner.close()
        self.sync_connections.close()

    def handle(self, messages: Sequence[LeasedMessage]) -> list[Settlement]:
        """Run the handlers of messages, and return the outcome of each message that no handler settled itself."""
        found: list[Settlement] = []
        batches: dict[Handler, list[LeasedMessage]] = {}
        for message in messages:
            handler = self.handlers.get(message.kind)
            if handler is None:
                found.append((message, fail_without_handler(message, self.handlers)))
            else:
                batches.setdefault(handler, []).append(message)
        for handler, together in batches.items():
            size = handler.batch or 1
            for at in range(0, len(together), size):
                found += self.run(handler, together[at : at + size])
        return found

    def run(self, handler: Handler, messages: Sequence[LeasedMessage]) -> list[Settlement]:
        """Call one handler once."""
        contexts: Sequence[HandlerContext]
        outcomes: list[Outcome]
        if handler.is_async:
            contexts = asynchronous = [Context(each, self.async_connections) for each in messages]
            outcomes = self.runner.run(execute(handler, asynchronous))
        else:
            contexts = synchronous = [SyncContext(each, self.sync_connections) for each in messages]
            outcomes = execute_sync(handler, synchronous)
        return [
            (context.message, outcome)
            for context, outcome in zip(contexts, outcomes, strict=True)
            if context.settled is None
        ]

    def settle(self, settlements: Sequence[Settlement], *, using: Any = None) -> list[str]:
        """Settle messages with one statement for each type of outcome. The answers keep the order."""
        answers: dict[int, str] = {}
        for group in group_by_outcome(settlements):
            call = settle_call(self.schema, group)
            source = self.sync_connections.source
            answered = connections.run(source, call) if using is None else run_using(using, call)
            answers |= {id(each): answer for each, (answer, _) in zip(group, answered, strict=True)}
        return [answers[id(each)] for each in settlements]
