"""Threads for handlers that are plain functions; one that does not end does not keep the process from ending."""

from __future__ import annotations

import asyncio
import contextvars
import queue
import threading
from collections.abc import Callable
from typing import Any


class Threads:
    """Starts threads as they are needed, and keeps them."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.idle = 0
        self.count = 0
        self.work: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()

    async def run(self, function: Callable[[], Any]) -> Any:
        """Run a function in a thread that is free; if the wait is cancelled, the function goes on all the same."""
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[Any] = loop.create_future()
        context = contextvars.copy_context()

        def tell(settle: Callable[[Any], None], value: Any) -> None:
            self.idle += 1
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

        self.submit(work)
        return await ended

    def submit(self, work: Callable[[], None]) -> None:
        """Hand work to an idle thread or to a new one."""
        if self.idle:
            self.idle -= 1
        else:
            self.count += 1
            name = f"{self.name}-{self.count}"
            threading.Thread(target=self.serve, name=name, daemon=True).start()
        self.work.put(work)

    def serve(self) -> None:
        """What a thread does."""
        while (work := self.work.get()) is not None:
            work()

    def close(self) -> None:
        """Let the idle threads end."""
        for _ in range(self.count):
            self.work.put(None)
