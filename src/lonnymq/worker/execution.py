"""The engine that runs a handler: read the payload, call, and judge what came of it. It knows no loop and no queue."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from lonnymq.results import LeasedMessage
from lonnymq.worker.context import Context, Contexts, Facts, SyncContext, SyncContexts
from lonnymq.worker.handlers import Handler, Handlers
from lonnymq.worker.outcomes import COMPLETE, Dead, Fail, Outcome, RetryAfter
from lonnymq.worker.payloads import Unfit
from lonnymq.worker.texts import clean, cut, error_text

MOST_REASON = 2048


def without_handler(message: LeasedMessage, handlers: Handlers) -> Fail:
    """The outcome of a message that no handler here takes: perhaps a newer worker does, so it is tried again."""
    known = ", ".join(sorted(str(kind) for kind in handlers.kinds if kind is not None)) or "none"
    said = "without a kind" if message.kind is None else f"of kind {message.kind!r}"
    return Fail(f"no handler here takes messages {said}; kinds with a handler: {known}")


def read(handler: Handler, contexts: Sequence[Facts]) -> list[Any]:
    """The payloads; a context whose payload does not fit has its outcome named, and is left out."""
    payloads: list[Any] = []
    for context in contexts:
        try:
            payloads.append(handler.decode(context.message.content) if handler.decode else None)
        except Unfit as unfit:
            context.error = unfit
            context.outcome = Fail(cut(clean(str(unfit)), MOST_REASON), dead=True)
    return payloads


def arguments(handler: Handler, payload: Any, context: Any) -> tuple[Any, ...]:
    """What the function is called with."""
    if handler.decode is None:
        return (context,) if handler.takes_context else ()
    return (payload, context) if handler.takes_context else (payload,)


async def execute(handler: Handler, contexts: Sequence[Context]) -> list[Outcome]:
    """Run an async handler for one message, or for a batch, and say what came of each."""
    payloads = read(handler, contexts)
    fit = [each for each in contexts if each.outcome is None]
    if fit:
        given = called_with(handler, payloads, fit, Contexts)
        try:
            if handler.timeout_ms is None:
                await handler.function(*given)
            else:
                async with asyncio.timeout(handler.timeout_ms / 1000):
                    await handler.function(*given)
        except asyncio.CancelledError as error:
            if any(each.lost or each.stopping for each in fit):
                raise
            fail_all(handler, fit, error)
        except BaseException as error:
            fail_all(handler, fit, error)
    return [each.outcome or COMPLETE for each in contexts]


def execute_sync(handler: Handler, contexts: Sequence[SyncContext]) -> list[Outcome]:
    """Run a handler that is a plain function in this thread, and say what came of each message."""
    payloads = read(handler, contexts)
    fit = [each for each in contexts if each.outcome is None]
    if fit:
        try:
            handler.function(*called_with(handler, payloads, fit, SyncContexts))
        except BaseException as error:
            fail_all(handler, fit, error)
    return [each.outcome or COMPLETE for each in contexts]


def called_with(
    handler: Handler, payloads: list[Any], fit: Sequence[Facts], together: Any
) -> tuple[Any, ...]:
    """What the function is called with, for one message or for a batch."""
    if handler.batch is None:
        return arguments(handler, payloads[0], fit[0])
    return arguments(handler, payloads, together(fit) if handler.takes_context else None)


def fail_all(handler: Handler, contexts: Sequence[Facts], error: BaseException) -> None:
    """Judge what a handler raised, for all messages that are not settled by then."""
    for context in contexts:
        context.error = error
        if context.settled is None:
            context.outcome = judged(handler, context, error)


def judged(handler: Handler, context: Facts, error: BaseException) -> Fail:
    """What comes of an attempt that ended with this error."""
    text = error_text(error)
    if isinstance(error, Dead):
        return Fail(text, dead=True)
    if handler.max_attempts is not None and context.attempt >= handler.max_attempts:
        return Fail(text, dead=True)
    if isinstance(error, RetryAfter):
        return Fail(text, retry_ms=error.delay_ms)
    return Fail(text, retry_ms=handler.retry_ms(context.attempt))
