"""The worker's way to the database: calls with a time limit, and pauses that grow while it is out of reach."""

from __future__ import annotations

import asyncio
import random
from time import monotonic
from typing import TypeVar

import psycopg

from lonnymq.client import calls
from lonnymq.client._async.connections import AsyncDsnSource, run, run_dequeue
from lonnymq.client.call import Call
from lonnymq.client.calls.lease import Dequeued
from lonnymq.results import LeasedMessage
from lonnymq.worker.log import logger
from lonnymq.worker.texts import without_password

Answer = TypeVar("Answer")

CALL_SECONDS = 30.0
QUIET_SECONDS = 10.0
TROUBLE = (
    psycopg.OperationalError,
    psycopg.InterfaceError,
    psycopg.InternalError,
    OSError,
    TimeoutError,
)


class Link:
    """Runs calls on connections of its own; as many at once as there are calls at once."""

    def __init__(self, dsn: str, schema: str) -> None:
        self.dsn, self.schema = dsn, schema
        self.source = AsyncDsnSource(dsn)
        self.is_down = False
        self.quiet_until = 0.0

    async def run(self, call: Call[Answer]) -> Answer:
        """Run a call."""
        async with asyncio.timeout(CALL_SECONDS):
            answer = await run(self.source, call)
        self.up()
        return answer

    async def dequeue(
        self, *, limit: int, lease_ms: int, worker: str, cursor: list[int] | None
    ) -> Dequeued[LeasedMessage]:
        """Lease messages, in a transaction of its own."""
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
        self.up()
        return dequeued

    def up(self) -> None:
        """Take note that the database answers."""
        if self.is_down:
            self.is_down = False
            logger.info("the database is back")

    def down(self, error: BaseException) -> None:
        """Take note of trouble: of one outage once, of other errors now and then."""
        said = f"{type(error).__name__}: {without_password(str(error), self.dsn)}"
        if isinstance(error, TROUBLE) and not self.is_down:
            self.is_down = True
            logger.warning("the database is out of reach, trying on: %s", said)
        if not isinstance(error, TROUBLE) and monotonic() > self.quiet_until:
            self.quiet_until = monotonic() + QUIET_SECONDS
            logger.error("the database refuses a call, trying on: %s", said)

    async def close(self) -> None:
        """Close the idle connections."""
        await self.source.close()


class Backoff:
    """Pauses between tries: short at first, doubling, at most two seconds, and no two workers' alike."""

    def __init__(self, *, least: float = 0.05, most: float = 2.0) -> None:
        self.least, self.most, self.tries = least, most, 0

    def reset(self) -> None:
        """Begin anew after a try that went well."""
        self.tries = 0

    async def pause(self) -> None:
        """Wait before the next try."""
        delay = min(self.most, self.least * 2 ** min(self.tries, 30))
        self.tries += 1
        await asyncio.sleep(random.uniform(delay / 2, delay))  # noqa: S311 - spreads load


async def wait(event: asyncio.Event, seconds: float) -> None:
    """Wait for an event, so long at most."""
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        pass
