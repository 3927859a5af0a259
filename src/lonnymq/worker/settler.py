"""Settles what handlers have ended, many in one statement; what is settled is reported after the commit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

from lonnymq.worker.context import Facts
from lonnymq.worker.database import TROUBLE, Backoff, Link
from lonnymq.worker.error_text import where
from lonnymq.worker.outcomes import Answers, Complete, Fail, Outcome, settle
from lonnymq.worker.reporter import fields, logger

Ended = tuple[Facts, Outcome]
MOST_AT_ONCE = 1000
GONE = {Complete: "completed", Fail: "dead"}  # what a message is that an earlier try took away


class Settler:
    """Gathers outcomes for a few milliseconds and settles them; while a statement runs, the next ones gather."""

    def __init__(
        self, link: Link, *, settle_ms: int, report: Callable[[list[tuple[Facts, str]]], None]
    ) -> None:
        self.link, self.report = link, report
        self.pause = settle_ms / 1000
        self.waiting: list[Ended] = []
        self.busy = 0
        self.some, self.moved = asyncio.Event(), asyncio.Event()

    @property
    def backlog(self) -> int:
        """How many are not settled yet."""
        return len(self.waiting) + self.busy

    def put(self, context: Facts, outcome: Outcome) -> None:
        """Hand in what came of a message."""
        self.waiting.append((context, outcome))
        self.some.set()

    async def run(self) -> None:
        """Settle for ever."""
        while True:
            await self.some.wait()
            if self.pause and len(self.waiting) < MOST_AT_ONCE:
                await asyncio.sleep(self.pause)
            self.some.clear()
            batch, self.waiting = self.waiting, []
            self.busy = len(batch)
            for group in groups_of(batch):
                await self.settle(group)
                self.busy -= len(group)
            self.busy = 0
            self.moved.set()

    async def settle(self, group: list[Ended]) -> None:
        """Settle a group of one kind, however long the database is out of reach."""
        backoff = Backoff()
        call = settle(self.link.schema, [(context.message, outcome) for context, outcome in group])
        while True:
            try:
                answers = await self.link.run(call)
            except TROUBLE as error:
                self.link.down(error)
                await backoff.pause()
            except Exception as error:
                return await self.settle_apart(group, error)
            else:
                return self.tell(group, answers, again=backoff.tries > 0)

    async def settle_apart(self, group: list[Ended], error: Exception) -> None:
        """Settle one by one what cannot be settled together; what cannot at all counts as failed."""
        if len(group) > 1:
            for each in group:
                await self.settle([each])
            return
        [(context, outcome)] = group
        logger.error(
            "message %s cannot be settled: %s", context.id, where(error), extra=fields(context)
        )
        if not isinstance(outcome, Fail):
            refused = Fail(f"its outcome could not be stored: {type(error).__name__}")
            await self.settle([(context, refused)])
        elif (
            not outcome.error.isascii()
        ):  # which a database of another encoding may be unable to store
            plain = outcome.error.encode("ascii", "replace").decode()
            await self.settle([(context, replace(outcome, error=plain))])
        else:
            self.report([(context, "lease_lost")])  # it runs out, and the message comes back

    def tell(self, group: list[Ended], answers: Answers, *, again: bool) -> None:
        """Report each answer. After a cut connection a message that is gone was settled by the try before."""
        told = [
            (context, GONE.get(type(outcome), word) if again and word == "not_found" else word)
            for (context, outcome), (word, _) in zip(group, answers, strict=True)
        ]
        self.report(told)

    async def drain(self, seconds: float) -> bool:
        """Wait until all is settled, so long at most; say whether it is."""
        try:
            async with asyncio.timeout(seconds):
                while self.backlog:
                    self.moved.clear()
                    await self.moved.wait()
        except TimeoutError:
            return False
        return True


def groups_of(batch: list[Ended]) -> list[list[Ended]]:
    """The outcomes, those of one kind together, so many at a time."""
    kinds: dict[type, list[Ended]] = {}
    for each in batch:
        kinds.setdefault(type(each[1]), []).append(each)
    return [
        group[at : at + MOST_AT_ONCE]
        for group in kinds.values()
        for at in range(0, len(group), MOST_AT_ONCE)
    ]
