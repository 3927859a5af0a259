"""Keeps leases: a heartbeat for all of them in one statement, and word to the handlers whose lease is lost."""

from __future__ import annotations

import asyncio
import time

from lonnymq.client import calls
from lonnymq.worker.context import Facts
from lonnymq.worker.jobs import Jobs
from lonnymq.worker.link import Backoff, Link
from lonnymq.worker.settings import Settings

MOST_AT_ONCE = 10_000


class Keeper:
    """Extends all leases that are older than a third of their time, every third of it."""

    def __init__(self, link: Link, jobs: Jobs, settings: Settings) -> None:
        self.link, self.jobs, self.lease_ms = link, jobs, settings.lease_ms
        self.third = settings.lease_ms / 3000

    async def run(self) -> None:
        """Beat for ever."""
        backoff = Backoff()
        due = time.monotonic() + self.third
        while True:
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            try:
                await self.beat()
            except Exception as error:
                self.link.down(error)
                await backoff.pause()
            else:
                backoff.reset()
                due = time.monotonic() + self.third

    async def beat(self) -> None:
        """Extend the leases that are not fresh."""
        old = time.monotonic() - self.third * 0.9
        kept = [each for each in self.jobs.leases if each.taken <= old]
        for at in range(0, len(kept), MOST_AT_ONCE):
            await self.extend(kept[at : at + MOST_AT_ONCE])

    async def extend(self, kept: list[Facts]) -> None:
        """Extend these leases in one statement."""
        call = calls.message_heartbeat_many(
            self.link.schema, [each.message for each in kept], lease_ms=self.lease_ms
        )
        beats = await self.link.run(call)
        for context, beat in zip(kept, beats, strict=True):
            if beat.lease_until is not None:
                context.lease_until = beat.lease_until
            elif beat.answer in ("lease_lost", "not_found"):
                self.lose(context)

    def lose(self, context: Facts) -> None:
        """Give a lease up, unless its handler has ended: then the settlement under way finds out."""
        job = self.jobs.leases.get(context)
        if job is not None and not job.is_over and not context.committing:
            self.jobs.lose(context)
