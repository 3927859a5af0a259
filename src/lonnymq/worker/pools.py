"""Lanes: tasks that run one job after another, so that a handler which never waits costs no task of its own."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import queue
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, Generic, Protocol, TypeVar


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


LEFTOVER_SECONDS = 1.0
YOUNG_OBJECTS = 10_000  # before they are looked through: messages die young, and the usual 700 cost a tenth of the CPU


class Threads(ThreadPoolExecutor):
    """Starts threads as they are needed, keeps them, and waits for none of them in the end."""

    def __init__(self, name: str) -> None:
        super().__init__(max_workers=1)  # which is never started: ours are not waited for
        self.name = name
        self.count = 0
        self.idle = threading.Semaphore(0)
        self.work: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()

    async def run(self, function: Callable[[], Any]) -> Any:
        """Run a function in a thread that is free; if the wait is cancelled, the function goes on all the same."""
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[Any] = loop.create_future()
        context = contextvars.copy_context()

        def tell(settle: Callable[[Any], None], value: Any) -> None:
            if not ended.done():
                settle(value)

        def work() -> None:
            try:
                told = (ended.set_result, context.run(function))
            except BaseException as error:
                told = (ended.set_exception, error)
            try:
                loop.call_soon_threadsafe(tell, *told)
            except RuntimeError:  # the loop has ended: nobody waits any more
                return

        self.hand_over(work)
        return await ended

    def submit(self, function: Callable[..., Any], /, *args: Any, **more: Any) -> Future[Any]:
        """Run a function for the event loop: this is what asyncio.to_thread calls."""
        future: Future[Any] = Future()

        def work() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(function(*args, **more))
            except BaseException as error:
                future.set_exception(error)

        self.hand_over(work)
        return future

    def hand_over(self, work: Callable[[], None]) -> None:
        """Hand work to an idle thread or to a new one."""
        if not self.idle.acquire(blocking=False):
            self.count += 1
            name = f"{self.name}-{self.count}"
            threading.Thread(target=self.serve, name=name, daemon=True).start()
        self.work.put(work)

    def serve(self) -> None:
        """What a thread does."""
        while (work := self.work.get()) is not None:
            work()
            self.idle.release()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Let the idle threads end; those at work end when they do, or with the process."""
        for _ in range(self.count):
            self.work.put(None)


def run_to_end(main: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine in a loop of its own; handlers that refuse to be cancelled are left where they are."""
    thresholds = gc.get_threshold()
    gc.set_threshold(max(thresholds[0], YOUNG_OBJECTS), *thresholds[1:])
    loop = asyncio.new_event_loop()
    loop.set_default_executor(Threads("lonnymq"))
    try:
        loop.run_until_complete(main)
    finally:
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        if left:
            loop.run_until_complete(asyncio.wait(left, timeout=LEFTOVER_SECONDS))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()
        gc.set_threshold(*thresholds)
