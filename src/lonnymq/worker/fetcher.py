"""Takes messages: as many as there are free slots, when told, when due, and now and then in any case."""

from __future__ import annotations

import asyncio
import random
from time import monotonic
from typing import Any

from psycopg import AsyncConnection, sql

from lonnymq.worker.context import Facts
from lonnymq.worker.database import Backoff, Link, wait
from lonnymq.worker.heartbeats import Keeper
from lonnymq.worker.reporter import logger
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


CHECK_SECONDS = 60.0


class Listener:
    """Tells the fetcher when there is something to take."""

    def __init__(self, link: Link, fetcher: Fetcher) -> None:
        self.link, self.fetcher = link, fetcher

    async def run(self) -> None:
        """Listen for ever, or until it is known that nothing can be heard."""
        backoff = Backoff()
        while True:
            try:
                async with await AsyncConnection.connect(
                    self.link.dsn, autocommit=True, prepare_threshold=None
                ) as connection:
                    if not await can_hear(connection):
                        logger.info("a pooler passes no notifications on: the worker polls")
                        return
                    backoff.reset()
                    await self.listen(connection)
            except Exception as error:
                self.link.down(error)
            finally:
                self.fetcher.is_listening = False
            await backoff.pause()

    async def listen(self, connection: AsyncConnection[Any]) -> None:
        """Hear notifications as long as the connection lasts; now and then see whether it does."""
        connection.add_notify_handler(lambda _: self.fetcher.told.set())
        await connection.execute(sql.SQL("listen {}").format(sql.Identifier(self.link.schema)))
        self.fetcher.is_listening = True
        self.fetcher.told.set()  # of what was notified before there was anybody to hear it
        while True:
            await self.hear(connection)
            await connection.execute("select 1")

    async def hear(self, connection: AsyncConnection[Any]) -> None:
        """Hear for a while. psycopg's own way of hearing wakes ten times a second, this one when there is something."""
        loop, some, until = asyncio.get_running_loop(), asyncio.Event(), monotonic() + CHECK_SECONDS
        loop.add_reader(connection.fileno(), some.set)
        try:
            while (left := until - monotonic()) > 0:
                await wait(some, left)
                some.clear()
                connection.pgconn.consume_input()
                while connection.pgconn.notifies():
                    self.fetcher.told.set()
        finally:
            loop.remove_reader(connection.fileno())


async def can_hear(connection: AsyncConnection[Any]) -> bool:
    """Whether the session is ours: a pooler gives process ids of its own."""
    row = await (await connection.execute("select pg_backend_pid()")).fetchone()
    return row == (connection.info.backend_pid,)
