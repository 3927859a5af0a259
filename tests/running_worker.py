"""What tests of the worker need: one that works beside the test, and conditions waited for in its loop."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from lonnymq import Queue, Worker
from lonnymq.worker.session import Session

T = TypeVar("T")


async def soon(look: Callable[[], T | None], *, within: float = 90.0) -> T:
    """Look until what is seen is true, and return it; fail after so many seconds."""
    deadline = time.monotonic() + within
    while not (seen := look()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not so within {within} s: {look}")
        await asyncio.sleep(0.01)
    return seen


def session_of(worker: Worker) -> Session:
    """The session of a worker that runs."""
    assert worker._session is not None
    return worker._session


@asynccontextmanager
async def running_worker(worker: Worker, dsn: str) -> AsyncIterator[asyncio.Task[None]]:
    """The worker at work; what still runs in the end is given back at once."""
    task = asyncio.create_task(worker.run_async(dsn))
    try:
        await soon(lambda: task.done() or (worker._session and worker._session.tasks))
        yield task
    finally:
        worker.stop()
        worker.stop()
        await task


def outcomes(queue: Queue) -> list[str]:
    """How the attempts of all messages have ended, in the order of their ids."""
    rows = sorted(queue.history_read(), key=lambda row: (row.message_id, row.finished_at))
    return [row.outcome for row in rows]


def is_completed(queue: Queue, count: int) -> bool:
    """Whether so many attempts have ended, all of them well."""
    return outcomes(queue) == ["completed"] * count
