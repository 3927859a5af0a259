"""The worker's log: what happened to which message, as fields; never a payload, nor the words of an error."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from typing import Any

from lonnymq.worker.context import Facts
from lonnymq.worker.error_text import where

logger = logging.getLogger("lonnymq.worker")

LEVELS = {
    "completed": logging.DEBUG,
    "deferred": logging.DEBUG,
    "retrying": logging.WARNING,
    "failed": logging.WARNING,
    "dead": logging.ERROR,
    "lease_lost": logging.WARNING,
    "not_found": logging.WARNING,
}


def fields(context: Facts, **more: Any) -> dict[str, Any]:
    """The fields of a record about one message, for `extra=`."""
    message = context.message
    return {
        "message_id": message.id,
        "channel": message.channel,
        "kind": message.kind,
        "attempt": message.attempt,
        **more,
    }


def log_settled(context: Facts, answer: str, worker: str) -> None:
    """Tell of one message that was settled; its error is in the database in full."""
    level = LEVELS.get(answer, logging.INFO)
    error = where(context.error) if context.error is not None else None
    extra = fields(
        context, answer=answer, worker=worker, elapsed_ms=round(context.elapsed_ms, 3), error=error
    )
    words = f"message {context.id} of {context.channel}: {answer}"
    logger.log(level, "%s", f"{words} ({error})" if error else words, extra=extra)


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
