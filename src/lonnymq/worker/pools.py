"""Lanes: tasks that run one job after another, so that a handler which never waits costs no task of its own."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextvars import copy_context
from typing import Generic, Protocol, TypeVar


class Work(Protocol):
    """What a lane runs: it is told in which task."""

    task: asyncio.Task[None] | None


Job = TypeVar("Job", bound=Work)


class Lanes(Generic[Job]):
    """A line of jobs, and the lanes that take from it: one more whenever a job waits while others are in line."""

    def __init__(self, work: Callable[[Job], Awaitable[None]]) -> None:
        self.work = work
        self.line: deque[Job] = deque()
        self.idle: list[asyncio.Future[None]] = []
        self.lanes: set[asyncio.Task[None]] = set()
        self.is_called = False

    def put(self, job: Job) -> None:
        """Put a job in line; it begins when the loop comes to it."""
        self.line.append(job)
        if not self.is_called:
            self.call()

    def call(self) -> None:
        """Have a lane look at the line: an idle one, or a new one."""
        self.is_called = True
        while self.idle:
            future = self.idle.pop()
            if not future.done():
                return future.set_result(None)
        lane = asyncio.create_task(self.run())
        self.lanes.add(lane)
        lane.add_done_callback(self.lanes.discard)
        return None

    async def run(self) -> None:
        """One lane. It ends with the job that leaves something behind: a cancellation, a context variable."""
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - what runs here is one
        loop, fresh = asyncio.get_running_loop(), copy_context()
        while True:
            self.is_called = False
            while self.line:
                job = self.line.popleft()
                job.task = task
                if self.line and not self.is_called:
                    self.call()  # should this one wait, the others need not
                await self.work(job)
                if task.cancelling() or copy_context() != fresh:
                    if self.line and not self.is_called:
                        self.call()
                    return
            future = loop.create_future()
            self.idle.append(future)
            await future

    def drop(self) -> list[Job]:
        """Take those out of line that have not begun."""
        left = list(self.line)
        self.line.clear()
        return left

    def close(self) -> None:
        """Let the idle lanes end."""
        for future in self.idle:
            future.cancel()
        self.idle.clear()
