"""How long the client waits: the slots of a bounded pool, and the time limit of a new connection."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from psycopg import OperationalError

from lonnymq.errors import PoolTimeout


class Slots:
    """A number of slots for threads."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.semaphore = threading.Semaphore(count)

    def acquire(self, seconds: float | None) -> None:
        """Take a slot, or raise PoolTimeout after some seconds."""
        if not self.semaphore.acquire(timeout=seconds):
            raise all_busy(self.count, seconds)

    def release(self) -> None:
        """Give a slot back."""
        self.semaphore.release()


class AsyncSlots:
    """A number of slots for tasks. Unlike asyncio.Semaphore, the slots outlast an event loop."""

    def __init__(self, count: int) -> None:
        self.count = self.free = count
        self.waiting: deque[asyncio.Future[None]] = deque()

    async def acquire(self, seconds: float | None) -> None:
        """Take a slot in turn, or raise PoolTimeout after some seconds."""
        if self.free > 0:
            self.free -= 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.waiting.append(turn)
        try:
            async with asyncio.timeout(seconds):
                await turn
        except BaseException as error:
            if turn.done() and not turn.cancelled():
                self.release()  # the slot came just as the wait ended
            elif turn in self.waiting:
                self.waiting.remove(turn)
            if isinstance(error, TimeoutError):
                raise all_busy(self.count, seconds) from None
            raise

    def release(self) -> None:
        """Hand the slot to the first that waits."""
        while self.waiting:
            turn = self.waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self.free += 1


def all_busy(count: int, seconds: float | None) -> PoolTimeout:
    """Build the error of a full pool."""
    return PoolTimeout(
        f"all {count} connections were busy for {seconds:g} s: {PoolTimeout.__doc__}"
    )


@asynccontextmanager
async def time_limit_async(seconds: float | None) -> AsyncIterator[None]:
    """Limit the time of a new connection, whose host name may be looked up for a long time."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise OperationalError(f"cannot connect to the database within {seconds:g} s") from None


@contextmanager
def time_limit(_: float | None) -> Iterator[None]:
    """Leave the limit to `connect_timeout`: nothing can stop a thread that looks up a host name."""
    yield
