"""The user's own functions around handlers, for logging and metrics; one that fails harms nobody."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from lonnymq.worker.context import Facts
from lonnymq.worker.error_text import where
from lonnymq.worker.reporter import fields, logger

Hook = Callable[..., Any]


class Hooks:
    """Functions to call before a handler, after its message was settled, and when it raised."""

    def __init__(self) -> None:
        self.before: list[Hook] = []
        self.after: list[Hook] = []
        self.error: list[Hook] = []


async def call(hooks: list[Hook], context: Facts, *more: Any) -> None:
    """Call hooks, plain or async, one after another."""
    for hook in hooks:
        try:
            answer = hook(context, *more)
            if inspect.isawaitable(answer):
                await answer
        except Exception as error:
            logger.error("a hook failed: %s", where(error), extra=fields(context))
