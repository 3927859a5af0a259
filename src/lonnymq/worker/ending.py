"""Ends tasks for certain: one that was cancelled in the middle of a call may take the cancellation for trouble."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

AGAIN_SECONDS = 0.5


async def end_all(tasks: Iterable[asyncio.Task[Any]], seconds: float) -> bool:
    """Cancel the tasks, again and again while one goes on, for so long at most; say whether all have ended.

    A call whose connection breaks just as it is cancelled ends with the connection's error instead, and a loop
    that survives trouble goes on.
    """
    left = {task for task in tasks if not task.done()}
    until = asyncio.get_running_loop().time() + seconds
    while left and (rest := until - asyncio.get_running_loop().time()) > 0:
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=min(rest, AGAIN_SECONDS))
    return not left
