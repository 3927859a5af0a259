"""Runs registered handlers in the calling thread, for programs that take and settle messages in their own way."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Self

from lonnymq.client._sync import connections
from lonnymq.client.adapters import run_using
from lonnymq.results import LeasedMessage
from lonnymq.worker.context import Context, Facts, SyncContext
from lonnymq.worker.execution import execute, execute_sync, without_handler
from lonnymq.worker.handlers import Handler, Handlers
from lonnymq.worker.outcomes import Outcome
from lonnymq.worker.ports import AsyncPort, SyncPort
from lonnymq.worker.statements import Settlement, by_kind, settle


class Inline:
    """Handles messages one after another; keeps no lease beyond what the handlers themselves extend."""

    def __init__(
        self, handlers: Handlers, dsn: str, *, schema: str = "lonnymq", lease_ms: int = 30_000
    ) -> None:
        self.handlers, self.schema = handlers, schema
        self.sync_port = SyncPort(dsn, schema=schema, lease_ms=lease_ms)
        self.async_port = AsyncPort(dsn, schema=schema, lease_ms=lease_ms)
        self.runner = asyncio.Runner()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close what was opened here."""
        self.runner.run(self.async_port.close())
        self.runner.close()
        self.sync_port.close()

    def handle(self, messages: Sequence[LeasedMessage]) -> list[Settlement]:
        """Run the handlers of these messages, and say what is to come of each that no handler has settled itself."""
        found: list[Settlement] = []
        batches: dict[Handler, list[LeasedMessage]] = {}
        for message in messages:
            handler = self.handlers.get(message.kind)
            if handler is None:
                found.append((message, without_handler(message, self.handlers)))
            else:
                batches.setdefault(handler, []).append(message)
        for handler, together in batches.items():
            size = handler.batch or 1
            for at in range(0, len(together), size):
                found += self.run(handler, together[at : at + size])
        return found

    def run(self, handler: Handler, messages: Sequence[LeasedMessage]) -> list[Settlement]:
        """Run one handler once."""
        contexts: Sequence[Facts]
        outcomes: list[Outcome]
        if handler.is_async:
            contexts = asynchronous = [Context(each, self.async_port) for each in messages]
            outcomes = self.runner.run(execute(handler, asynchronous))
        else:
            contexts = synchronous = [SyncContext(each, self.sync_port) for each in messages]
            outcomes = execute_sync(handler, synchronous)
        return [
            (context.message, outcome)
            for context, outcome in zip(contexts, outcomes, strict=True)
            if context.settled is None
        ]

    def settle(self, settlements: Sequence[Settlement], *, using: Any = None) -> list[str]:
        """Settle messages in one statement for each kind of outcome; the answers are in this order."""
        answers: dict[int, str] = {}
        for group in by_kind(settlements):
            call = settle(self.schema, group)
            source = self.sync_port.source
            answered = connections.run(source, call) if using is None else run_using(using, call)
            answers |= {id(each): word for each, (word, _) in zip(group, answered, strict=True)}
        return [answers[id(each)] for each in settlements]
