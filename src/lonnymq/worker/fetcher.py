"""First step of a message: leases as many messages as there are free slots and hands them to the runner."""

from __future__ import annotations

import asyncio
import logging
import random
from dataclasses import replace
from time import monotonic
from typing import Any

from psycopg import AsyncConnection, OperationalError, sql

from lonnymq.backoff import Backoff
from lonnymq.client._async.pool import AsyncReusableConnection
from lonnymq.worker.context import HandlerContext
from lonnymq.worker.database import Database, wait_for
from lonnymq.worker.heartbeats import LeaseHeartbeats
from lonnymq.worker.runner import Runner
from lonnymq.worker.scheduler import Scheduler
from lonnymq.worker.settings import Settings

logger = logging.getLogger("lonnymq.worker")

POLL_SECONDS, POLL_SECONDS_WITHOUT_LISTEN = 5.0, 0.5
CHECK_CONNECTION_SECONDS = 20.0
CLOCK_MOVED = "clock"  # the notification of lonnymq.testing


class Fetcher:
    """Fetches when woken, when a message is due, and at the poll interval in any case."""

    def __init__(
        self, database: Database, runner: Runner, heartbeats: LeaseHeartbeats, settings: Settings
    ) -> None:
        self.database, self.runner, self.heartbeats = database, runner, heartbeats
        self.settings = settings
        self.wake = asyncio.Event()
        self.is_listening = False
        self.is_stopping = False
        self.cursor: list[int] | None = None
        self.kinds: tuple[str | None, ...] | None = None

    def stop(self) -> None:
        """Fetch nothing new. A running dequeue may end, or nobody would have the messages that it leased."""
        self.is_stopping = True
        self.wake.set()
        self.runner.stop_waiting()

    async def run(self) -> None:
        """Fetch until stopped."""
        trouble, contended = Backoff(), Backoff(first=0.001, longest=0.02)
        while not self.is_stopping:
            limit = await self.runner.wait_for_slots()
            if not limit:
                continue
            self.wake.clear()
            try:
                if trouble.tries:
                    await (
                        self.heartbeats.extend_leases()
                    )  # or we would fetch our own messages again
                pause = await self.fetch(limit)
            except Exception as error:
                self.database.log_error(error)
                await trouble.sleep()
                continue
            trouble.reset()
            if pause is None:
                await contended.sleep()
            else:
                contended.reset()
                if pause:
                    await wait_for(self.wake, pause)

    async def fetch(self, limit: int) -> float | None:
        """Fetch and start messages. Return the seconds to wait then, or None if other workers held the channels."""
        expires_at = monotonic() + self.settings.lease_ms / 1000
        kinds = self.runner.handlers.served(self.settings.kinds)  # a handler may be new
        if kinds != self.kinds:
            self.kinds, self.cursor = kinds, None
        dequeued = await self.database.dequeue(
            replace(self.settings, kinds=kinds), limit=limit, cursor=self.cursor
        )
        self.cursor, batch = dequeued.cursor, dequeued.batch
        if batch.messages:
            if self.is_stopping:
                for message in batch.messages:
                    self.runner.give_back(HandlerContext(message))
            else:
                self.runner.start(batch.messages, expires_at=expires_at)
            return 0
        if batch.reason == "contended":
            return None
        look_in, poll = batch.retry_in_ms, self.poll_seconds()
        return poll if look_in is None else min(poll, max(look_in, 1) / 1000)

    def poll_seconds(self) -> float:
        """Return the longest wait. The wait is random so that workers do not poll together."""
        if self.settings.poll_interval_ms is not None:
            longest = self.settings.poll_interval_ms / 1000
        else:
            longest = POLL_SECONDS if self.is_listening else POLL_SECONDS_WITHOUT_LISTEN
        return longest * random.uniform(0.8, 1)  # noqa: S311 - spreads load


class Listener:
    """Wakes the fetcher on notifications. Behind a pooler, which passes none on, the listener gives up."""

    def __init__(self, database: Database, fetcher: Fetcher, scheduler: Scheduler) -> None:
        self.database, self.fetcher, self.scheduler = database, fetcher, scheduler

    def note(self, payload: str) -> None:
        """Wake the fetcher, and the scheduler too if a test has moved the clock."""
        self.fetcher.wake.set()
        if payload == CLOCK_MOVED:
            self.scheduler.wake.set()

    async def run(self) -> None:
        """Listen until cancelled, or until the connection turns out to be pooled."""
        backoff = Backoff()
        while True:
            try:
                connection = await AsyncReusableConnection.open(
                    self.database.source.dsn, self.database.seconds
                )
                try:
                    if await is_pooled(connection):
                        logger.info("the pooler passes no notifications on, polling instead")
                        return
                    await self.listen(connection, backoff)
                finally:
                    await connection.close()
            except Exception as error:
                self.database.log_error(error)
            finally:
                self.fetcher.is_listening = False
            await backoff.sleep()

    async def listen(self, connection: AsyncConnection[Any], backoff: Backoff) -> None:
        """Wake the fetcher as long as the connection lasts, and check the connection now and then."""
        connection.add_notify_handler(lambda found: self.note(found.payload))
        await connection.execute(sql.SQL("listen {}").format(sql.Identifier(self.database.schema)))
        self.fetcher.is_listening = True
        self.fetcher.wake.set()  # for notifications from before
        while True:
            await self.read_notifications(connection)
            row = await (await connection.execute("show transaction_read_only")).fetchone()
            if row != ("off",):
                raise OperationalError("the listening session is read-only")
            backoff.reset()

    async def read_notifications(self, connection: AsyncConnection[Any]) -> None:
        """Read notifications for a while. psycopg's own generator wakes ten times a second, this only on data."""
        loop, readable = asyncio.get_running_loop(), asyncio.Event()
        until = monotonic() + CHECK_CONNECTION_SECONDS
        loop.add_reader(connection.fileno(), readable.set)
        try:
            while (left := until - monotonic()) > 0:
                await wait_for(readable, left)
                readable.clear()
                connection.pgconn.consume_input()
                while (notification := connection.pgconn.notifies()) is not None:
                    self.note(notification.extra.decode())
        finally:
            loop.remove_reader(connection.fileno())


async def is_pooled(connection: AsyncConnection[Any]) -> bool:
    """Return whether a pooler is in between, which shows process ids of its own."""
    row = await (await connection.execute("select pg_backend_pid()")).fetchone()
    return row != (connection.info.backend_pid,)
