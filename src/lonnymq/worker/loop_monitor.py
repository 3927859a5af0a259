"""Watches the event loop from a thread: a handler that blocks the loop stops heartbeats and all other handlers."""

from __future__ import annotations

import asyncio
import logging
import threading
import time

from lonnymq.worker.runner import Runner

logger = logging.getLogger("lonnymq.worker")

CHECK_SECONDS = 0.5
BLOCKED_SECONDS = 1.0
ADVICE = "run blocking code in a plain function or with asyncio.to_thread"


class LoopMonitor:
    """Logs a blocked event loop with the handler that blocks it, and the duration afterwards."""

    def __init__(self, runner: Runner) -> None:
        self.runner = runner
        self.beat_at = time.monotonic()
        self.culprit: str | None = None
        self.ended = threading.Event()

    async def run(self) -> None:
        """Record the time again and again until cancelled. A late record shows how long the loop was blocked."""
        loop = asyncio.get_running_loop()
        threading.Thread(target=self.watch, args=(loop,), daemon=True).start()
        try:
            while True:
                self.beat_at = time.monotonic()
                await asyncio.sleep(CHECK_SECONDS)
                self.log_end(time.monotonic() - self.beat_at - CHECK_SECONDS)
        finally:
            self.ended.set()

    def log_end(self, seconds: float) -> None:
        """Log that the loop runs again."""
        if self.culprit is not None:
            logger.warning("%s blocked the event loop for %.1f s", self.culprit, seconds)
            self.culprit = None

    def watch(self, loop: asyncio.AbstractEventLoop) -> None:
        """Look for a late record, in a thread of its own. A process that was stopped as a whole is no blocked loop."""
        looked_at = time.monotonic()
        while not self.ended.wait(CHECK_SECONDS):
            now = time.monotonic()
            was_stopped, looked_at = now - looked_at > 2 * CHECK_SECONDS, now
            late = now - self.beat_at - CHECK_SECONDS
            if late > BLOCKED_SECONDS and self.culprit is None and not was_stopped:
                self.culprit = self.find_culprit(loop)
                logger.warning(
                    "%s has blocked the event loop for %.1f s: %s", self.culprit, late, ADVICE
                )

    def find_culprit(self, loop: asyncio.AbstractEventLoop) -> str:
        """Name the handler that runs in the loop just now, or other code."""
        task = asyncio.current_task(loop)
        for job in tuple(self.runner.running):
            if task is not None and job.task is task:
                return f"handler {job.handler.title} of message {job.contexts[0].id}"
        return "code outside of handlers"
