"""Third step of a message, after fetch and run: stores outcomes, many in one statement, for the reporter."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace

from lonnymq.backoff import Backoff
from lonnymq.client.calls.lease import Settled
from lonnymq.worker.context import HandlerContext
from lonnymq.worker.database import CONNECTION_ERRORS, Database
from lonnymq.worker.error_text import locate_error
from lonnymq.worker.outcomes import (
    Complete,
    Fail,
    Outcome,
    group_by_outcome,
    settle_call,
)
from lonnymq.worker.reporter import Reporter, message_fields

logger = logging.getLogger("lonnymq.worker")

Ended = tuple[HandlerContext, Outcome]
MAX_BATCH = 1000
REMOVED_AS = {Complete: "completed", Fail: "dead"}  # how an earlier try removed a message


class Settler:
    """Collects outcomes for a few milliseconds and stores them. More outcomes collect while a statement runs."""

    def __init__(self, database: Database, reporter: Reporter, *, flush_interval_ms: int) -> None:
        self.database, self.reporter = database, reporter
        self.interval = flush_interval_ms / 1000
        self.waiting: list[Ended] = []
        self.in_flight = 0
        self.has_work, self.progress = asyncio.Event(), asyncio.Event()

    @property
    def backlog(self) -> int:
        """The number of messages that are not settled yet."""
        return len(self.waiting) + self.in_flight

    def add(self, context: HandlerContext, outcome: Outcome) -> None:
        """Take the outcome of a message."""
        self.waiting.append((context, outcome))
        self.has_work.set()

    def skip(self, context: HandlerContext, answer: str) -> None:
        """Hand on a message that needs no statement: its handler settled it, or the lease is lost."""
        self.reporter.report([(context, answer)])

    async def run(self) -> None:
        """Settle until cancelled."""
        while True:
            await self.has_work.wait()
            if self.interval and len(self.waiting) < MAX_BATCH:
                await asyncio.sleep(self.interval)
            self.has_work.clear()
            batch, self.waiting = self.waiting, []
            self.in_flight = len(batch)
            for group in group_by_outcome(batch, limit=MAX_BATCH):
                await self.settle(group)
                self.in_flight -= len(group)
            self.progress.set()

    async def settle(self, group: list[Ended]) -> None:
        """Settle a group, and retry as long as the database is unreachable."""
        backoff = Backoff()
        settlements = [(context.message, outcome) for context, outcome in group]
        call = settle_call(self.database.schema, settlements)
        while True:
            try:
                answers = await self.database.run(call)
            except CONNECTION_ERRORS as error:
                self.database.log_error(error)
                await backoff.sleep()
            except Exception as error:
                return await self.settle_separately(group, error)
            else:
                return self.report(group, answers, is_retry=backoff.tries > 0)

    async def settle_separately(self, group: list[Ended], error: Exception) -> None:
        """Settle messages of a rejected statement separately. An outcome that cannot be stored becomes a failure."""
        if len(group) > 1:
            for each in group:
                await self.settle([each])
            return
        [(context, outcome)] = group
        logger.error(
            "cannot settle message %s: %s",
            context.id,
            locate_error(error),
            extra=message_fields(context),
        )
        if not isinstance(outcome, Fail):
            await self.settle(
                [(context, Fail(f"cannot store the outcome: {type(error).__name__}"))]
            )
        elif not outcome.error.isascii():  # the database may have another encoding
            plain = outcome.error.encode("ascii", "replace").decode()
            await self.settle([(context, replace(outcome, error=plain))])
        else:
            self.reporter.report([(context, "lease_lost")])  # the lease will run out

    def report(self, group: list[Ended], answers: Settled, *, is_retry: bool) -> None:
        """Report each answer. After a cut connection, a missing message was settled by the try before."""
        self.reporter.report(
            (context, REMOVED_AS.get(type(outcome), answer))
            if is_retry and answer == "not_found"
            else (context, answer)
            for (context, outcome), (answer, _) in zip(group, answers, strict=True)
        )

    async def drain(self, seconds: float) -> bool:
        """Wait until all is settled, up to a number of seconds, and return whether all is."""
        try:
            async with asyncio.timeout(seconds):
                while self.backlog:
                    self.progress.clear()
                    await self.progress.wait()
        except TimeoutError:
            return False
        return True
