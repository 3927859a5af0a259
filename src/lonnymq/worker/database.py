"""The worker's access to the database: calls with a time limit, and one log line per outage."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from time import monotonic
from typing import Any, TypeVar

import psycopg

from lonnymq.client import calls
from lonnymq.client._async.connections import AsyncDsnSource, run, run_dequeue
from lonnymq.client.call import Call
from lonnymq.client.calls.lease import Dequeued
from lonnymq.results import LeasedMessage
from lonnymq.worker.error_text import hide_password

logger = logging.getLogger("lonnymq.worker")

Answer = TypeVar("Answer")

CALL_SECONDS = 30.0
REPEAT_LOG_SECONDS = 10.0
CONNECTION_ERRORS = (
    psycopg.OperationalError,
    psycopg.InterfaceError,
    psycopg.InternalError,
    OSError,
    TimeoutError,
)


class Database:
    """Runs calls on connections of its own, as many at the same time as there are callers."""

    def __init__(self, dsn: str, schema: str) -> None:
        self.dsn, self.schema = dsn, schema
        self.source = AsyncDsnSource(dsn)
        self.is_down = False
        self.silent_until = 0.0

    async def run(self, call: Call[Answer]) -> Answer:
        """Run a call."""
        async with asyncio.timeout(CALL_SECONDS):
            answer = await run(self.source, call)
        self.mark_up()
        return answer

    async def dequeue(
        self, *, limit: int, lease_ms: int, worker: str, cursor: list[int] | None
    ) -> Dequeued[LeasedMessage]:
        """Lease messages in a transaction of their own."""
        call = calls.message_dequeue(
            self.schema,
            LeasedMessage,
            limit=limit,
            lease_ms=lease_ms,
            worker=worker,
            cursor=cursor,
        )
        async with asyncio.timeout(CALL_SECONDS):
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
        text = f"{type(error).__name__}: {hide_password(str(error), self.dsn)}"
        if isinstance(error, CONNECTION_ERRORS) and not self.is_down:
            self.is_down = True
            logger.warning("database unreachable, retrying: %s", text)
        if not isinstance(error, CONNECTION_ERRORS) and monotonic() > self.silent_until:
            self.silent_until = monotonic() + REPEAT_LOG_SECONDS
            logger.error("database rejected a call, retrying: %s", text)

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
