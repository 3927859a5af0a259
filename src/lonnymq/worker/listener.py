"""Hears notifications on a connection of its own; behind a pooler, which passes none on, it gives up."""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import Any

from psycopg import AsyncConnection, sql

from lonnymq.worker.database import Backoff, Link, wait
from lonnymq.worker.fetcher import Fetcher
from lonnymq.worker.reporter import logger

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
