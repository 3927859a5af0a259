"""Takes messages: as many as there are free slots, when told, when due, and now and then in any case."""

from __future__ import annotations

import asyncio
import random

from lonnymq.worker.context import Facts
from lonnymq.worker.database import Backoff, Link, wait
from lonnymq.worker.heartbeats import Keeper
from lonnymq.worker.runner import Jobs
from lonnymq.worker.settings import Settings

MOST_AT_ONCE = 1000
LISTENING_POLL, DEAF_POLL = 5.0, 0.5


class Fetcher:
    """Dequeues as long as it is not told to stop."""

    def __init__(self, link: Link, jobs: Jobs, settings: Settings, keeper: Keeper) -> None:
        self.link, self.jobs, self.settings, self.keeper = link, jobs, settings, keeper
        self.told = asyncio.Event()
        self.is_listening = False
        self.is_stopping = False
        self.cursor: list[int] | None = None

    def stop(self) -> None:
        """Take nothing new. A dequeue that is under way is let end: what it leased would be nobody's."""
        self.is_stopping = True
        self.told.set()
        self.jobs.freed.set()
        self.jobs.settler.moved.set()

    async def run(self) -> None:
        """Take messages until told to stop."""
        trouble, contended = Backoff(), Backoff(least=0.001, most=0.02)
        while not self.is_stopping:
            limit = await self.room()
            if not limit:
                continue
            self.told.clear()
            try:
                if trouble.tries:
                    await self.keeper.beat()  # or we would take over what we have
                pause = await self.take(limit)
            except Exception as error:
                self.link.down(error)
                await trouble.pause()
                continue
            trouble.reset()
            if pause is None:
                await contended.pause()
            else:
                contended.reset()
                if pause:
                    await wait(self.told, pause)

    async def room(self) -> int:
        """How many may be taken now; 0 after a wait for a slot or for settlements to catch up."""
        if self.jobs.free <= 0:
            self.jobs.freed.clear()
            await self.jobs.freed.wait()
            return 0
        settler = self.jobs.settler
        if settler.backlog > MOST_AT_ONCE + 4 * self.jobs.concurrency:
            settler.moved.clear()
            await settler.moved.wait()
            return 0
        return min(self.jobs.free, MOST_AT_ONCE)

    async def take(self, limit: int) -> float | None:
        """Take up to so many and begin with them; say how long to wait then (None: others were just counting)."""
        dequeued = await self.link.dequeue(
            limit=limit,
            lease_ms=self.settings.lease_ms,
            worker=self.settings.name,
            cursor=self.cursor,
        )
        self.cursor, batch = dequeued.cursor, dequeued.batch
        if batch.messages:
            if self.is_stopping:
                for message in batch.messages:
                    self.jobs.give_back(Facts(message))
            else:
                self.jobs.start(batch.messages)
            return 0
        if batch.why == "contended":
            return None
        look_in = batch.look_in_ms
        return self.poll() if look_in is None else min(self.poll(), max(look_in, 1) / 1000)

    def poll(self) -> float:
        """How long to wait at most, never the same for two workers for long."""
        if self.settings.poll_ms is not None:
            longest = self.settings.poll_ms / 1000
        else:
            longest = LISTENING_POLL if self.is_listening else DEAF_POLL
        return longest * random.uniform(0.8, 1)  # noqa: S311 - spreads load
