"""Pools for handlers: tasks of the event loop for async functions, threads for plain functions."""

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


class PoolJob(Protocol):
    """A job for the pool, which sets the task."""

    task: asyncio.Task[None] | None


Job = TypeVar("Job", bound=PoolJob)


class TaskPool(Generic[Job]):
    """Runs jobs in few tasks: a handler that never waits costs no task of its own.

    The pool starts another task whenever a job waits while other jobs are queued.
    """

    def __init__(self, work: Callable[[Job], Awaitable[None]]) -> None:
        self.work = work
        self.queue: deque[Job] = deque()
        self.idle: list[asyncio.Future[None]] = []
        self.tasks: set[asyncio.Task[None]] = set()
        self.is_woken = False

    def add(self, job: Job) -> None:
        """Queue a job, which starts with the next turn of the event loop."""
        self.queue.append(job)
        if not self.is_woken:
            self.wake()

    def wake(self) -> None:
        """Wake an idle task, or start a new task."""
        self.is_woken = True
        while self.idle:
            future = self.idle.pop()
            if not future.done():
                return future.set_result(None)
        task = asyncio.create_task(self.run())
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return None

    async def run(self) -> None:
        """Run jobs in one task, until a job leaves a cancellation or a context variable behind."""
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - this code runs in a task
        loop, fresh = asyncio.get_running_loop(), copy_context()
        while True:
            self.is_woken = False
            while self.queue:
                job = self.queue.popleft()
                job.task = task
                if self.queue and not self.is_woken:
                    self.wake()  # if this job waits, the others need not
                await self.work(job)
                if task.cancelling() or copy_context() != fresh:
                    if self.queue and not self.is_woken:
                        self.wake()
                    return
            future = loop.create_future()
            self.idle.append(future)
            await future

    def remove_waiting(self) -> list[Job]:
        """Remove and return the jobs that have not started."""
        left = list(self.queue)
        self.queue.clear()
        return left

    def close(self) -> None:
        """End the idle tasks."""
        for future in self.idle:
            future.cancel()
        self.idle.clear()


LEFTOVER_SECONDS = 1.0
GC_THRESHOLD = 10_000  # messages die young, and the usual 700 cost a tenth of the CPU


class ThreadPool(ThreadPoolExecutor):
    """Starts threads as needed and keeps them. A thread that never ends does not keep the process alive."""

    def __init__(self, name: str) -> None:
        super().__init__(max_workers=1)  # never started: our own threads are daemons
        self.name = name
        self.count = 0
        self.idle = threading.Semaphore(0)
        self.work: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()

    async def run(self, function: Callable[[], Any]) -> Any:
        """Run a function in a free thread. If the wait is cancelled, the function still runs to its end."""
        loop = asyncio.get_running_loop()
        result: asyncio.Future[Any] = loop.create_future()
        context = contextvars.copy_context()

        def set_result(setter: Callable[[Any], None], value: Any) -> None:
            if not result.done():
                setter(value)

        def work() -> None:
            try:
                outcome = (result.set_result, context.run(function))
            except BaseException as error:
                outcome = (result.set_exception, error)
            try:
                loop.call_soon_threadsafe(set_result, *outcome)
            except RuntimeError:  # the loop has ended
                return

        self.enqueue(work)
        return await result

    def submit(self, function: Callable[..., Any], /, *args: Any, **more: Any) -> Future[Any]:
        """Run a function for `asyncio.to_thread`."""
        future: Future[Any] = Future()

        def work() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(function(*args, **more))
            except BaseException as error:
                future.set_exception(error)

        self.enqueue(work)
        return future

    def enqueue(self, work: Callable[[], None]) -> None:
        """Give work to an idle thread or to a new thread."""
        if not self.idle.acquire(blocking=False):
            self.count += 1
            name = f"{self.name}-{self.count}"
            threading.Thread(target=self.serve, name=name, daemon=True).start()
        self.work.put(work)

    def serve(self) -> None:
        """Do work in one thread."""
        while (work := self.work.get()) is not None:
            work()
            self.idle.release()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the idle threads. Busy threads end after their work or with the process."""
        for _ in range(self.count):
            self.work.put(None)


def run_event_loop(main: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine in a new event loop. Handlers that ignore their cancellation are abandoned."""
    thresholds = gc.get_threshold()
    gc.set_threshold(max(thresholds[0], GC_THRESHOLD), *thresholds[1:])
    loop = asyncio.new_event_loop()
    loop.set_default_executor(ThreadPool("lonnymq"))
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
