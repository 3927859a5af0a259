"""The worker's access to the database: calls with a time limit, and one log line per outage."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from time import monotonic
from typing import Any, TypeVar

import psycopg

from lonnymq.client import calls
from lonnymq.client._async.connections import run_dequeue
from lonnymq.client._async.pool import AsyncDsnSource
from lonnymq.client.call import Call
from lonnymq.client.calls.lease import Dequeued
from lonnymq.client.connection_state import TIMEOUT_SECONDS
from lonnymq.results import LeasedMessage
from lonnymq.worker.error_text import hide_password
from lonnymq.worker.settings import Settings

logger = logging.getLogger("lonnymq.worker")

Answer = TypeVar("Answer")

OWN_CONNECTIONS = (
    7  # fetcher, settler, heartbeats, presence, scheduler, maintenance, and the report of the end
)
REPEAT_LOG_SECONDS = 10.0
CONNECTION_ERRORS = (
    psycopg.OperationalError,
    psycopg.InterfaceError,
    psycopg.InternalError,
    OSError,
    TimeoutError,
)


class Database:
    """Runs calls on connections of its own. A call has `seconds`, in all, to get a connection and an answer."""

    def __init__(self, dsn: str, schema: str, *, seconds: float = TIMEOUT_SECONDS) -> None:
        self.dsn, self.schema, self.seconds = dsn, schema, seconds
        self.source = AsyncDsnSource(dsn, max_connections=OWN_CONNECTIONS, timeout=seconds)
        self.is_down = False
        self.silent_until = 0.0

    async def run(self, call: Call[Answer], *, seconds: float | None = None) -> Answer:
        """Run a call."""
        answer = await self.source.run(call, timeout=seconds)
        self.mark_up()
        return answer

    async def dequeue(
        self, settings: Settings, *, limit: int, cursor: list[int] | None
    ) -> Dequeued[LeasedMessage]:
        """Lease messages that this worker takes, in a transaction of their own."""
        call = calls.message_dequeue(
            self.schema,
            LeasedMessage,
            limit=limit,
            lease_ms=settings.lease_ms,
            worker=settings.name,
            cursor=cursor,
            kinds=settings.kinds,
            channels=settings.channels,
        )
        dequeued = await run_dequeue(self.source, call)
        self.mark_up()
        return dequeued

    async def ignore_errors(self, work: Awaitable[Any]) -> None:
        """Wait for work that may fail because the work is repeated later."""
        try:
            await work
        except Exception as error:
            self.log_error(error)

    def mark_up(self) -> None:
        """Note that the database answers."""
        if self.is_down:
            self.is_down = False
            logger.info("database reachable again")

    def log_error(self, error: BaseException) -> None:
        """Log an outage once, and other errors at most every 10 seconds."""
        if isinstance(error, psycopg.errors.ReadOnlySqlTransaction):
            self.log_read_only()
            return
        text = f"{type(error).__name__}: {hide_password(str(error), self.dsn)}"
        if isinstance(error, CONNECTION_ERRORS) and not self.is_down:
            self.is_down = True
            logger.warning("database unreachable, retrying: %s", text)
        if not isinstance(error, CONNECTION_ERRORS) and monotonic() > self.silent_until:
            self.silent_until = monotonic() + REPEAT_LOG_SECONDS
            logger.error("database rejected a call, retrying: %s", text)

    def log_read_only(self) -> None:
        """Log at most every 10 seconds that the server takes no writes. The connections are closed already."""
        self.is_down = True
        if monotonic() > self.silent_until:
            self.silent_until = monotonic() + REPEAT_LOG_SECONDS
            logger.warning("the database session is read-only, connecting again")

    async def close(self) -> None:
        """Close the idle connections."""
        await self.source.close()


async def wait_for(event: asyncio.Event, seconds: float) -> None:
    """Wait for an event, up to a number of seconds."""
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        pass
