"""For contestants that are workers with an event loop of their own: watch for the word to stop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from benchmarks.flow import Flow

LOOK_SECONDS = 0.02


async def until_stopped(flow: Flow, stop: Callable[[], object]) -> None:
    """Wait until the flow is stopped, then say so to the worker."""
    while not flow.stopped:
        await asyncio.sleep(LOOK_SECONDS)
    stop()
