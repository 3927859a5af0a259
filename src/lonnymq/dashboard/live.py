"""What goes on, told to open pages as it goes: one look every two seconds, and none when nobody is there."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from lonnymq.dashboard.problems import Problem

EVERY_SECONDS = 2.0
QUIET_SECONDS = 15.0
HELLO = b": hello\n\n"


class Live:
    """Tells everybody who listens to one queue the same."""

    def __init__(self, look: Any, *, every: float = EVERY_SECONDS) -> None:
        self.look, self.every = look, every
        self.listeners: set[asyncio.Queue[bytes]] = set()
        self.task: asyncio.Task[None] | None = None

    async def events(self) -> AsyncIterator[bytes]:
        """The events from now on, until who listens leaves."""
        box: asyncio.Queue[bytes] = asyncio.Queue(maxsize=2)
        self.listeners.add(box)
        try:
            yield HELLO
            yield await self.now()
            if self.task is None or self.task.done():
                self.task = asyncio.create_task(self.tell())
            while True:
                try:
                    yield await asyncio.wait_for(box.get(), QUIET_SECONDS)
                except TimeoutError:
                    yield HELLO
        finally:
            self.listeners.discard(box)

    async def tell(self) -> None:
        """Look and tell, as long as anybody listens."""
        while self.listeners:
            await asyncio.sleep(self.every)
            if not self.listeners:
                return
            event = await self.now()
            for box in self.listeners:
                if box.full():  # a page that does not keep up has no use for what is past
                    box.get_nowait()
                box.put_nowait(event)

    async def now(self) -> bytes:
        """How things stand, as an event; or what is wrong."""
        try:
            return event("overview", await self.look())
        except Problem as problem:
            return event("trouble", problem.document)
        except Exception:
            return event("trouble", Problem("internal", "The page has a fault.").document)


def event(name: str, document: Any) -> bytes:
    """An event of the stream."""
    return f"event: {name}\ndata: {json.dumps(document)}\n\n".encode()
