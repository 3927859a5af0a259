"""The engine that runs a handler: read the payload, call, and judge what came of it. It knows no loop and no queue."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from lonnymq import tracing
from lonnymq.results import LeasedMessage
from lonnymq.worker.context import Context, Contexts, Facts, SyncContext, SyncContexts
from lonnymq.worker.error_text import clean, cut, error_text
from lonnymq.worker.handlers import Handler, Handlers, Unfit
from lonnymq.worker.outcomes import COMPLETE, Complete, Dead, Defer, Fail, Outcome, RetryAfter

MOST_REASON = 2048
UNFIT = object()
WORDS: dict[type, str] = {Complete: "completed", Defer: "deferred", Fail: "failed"}


def without_handler(message: LeasedMessage, handlers: Handlers) -> Fail:
    """The outcome of a message that no handler here takes: perhaps a newer worker does, so it is tried again."""
    known = ", ".join(sorted(str(kind) for kind in handlers.kinds if kind is not None)) or "none"
    said = "without a kind" if message.kind is None else f"of kind {message.kind!r}"
    return Fail(f"no handler here takes messages {said}; kinds with a handler: {known}")


async def execute(handler: Handler, contexts: Sequence[Context]) -> list[Outcome]:
    """Run an async handler for one message, or for a batch, and say what came of each."""
    given = called_with(handler, contexts, Contexts)
    span = begin(contexts) if tracing.PACKAGE in tracing.modules else None
    if given is not None:
        try:
            if handler.timeout_ms is None:
                await handler.function(*given)
            else:
                async with asyncio.timeout(handler.timeout_ms / 1000):
                    await handler.function(*given)
        except asyncio.CancelledError as error:
            if any(each.lost or each.stopping for each in contexts):
                if span is not None:
                    tracing.end(span, error, None)
                raise
            fail_all(handler, contexts, error)
        except BaseException as error:
            fail_all(handler, contexts, error)
    if span is not None:
        tracing.end(span, *ended(contexts))
    return [each.outcome or COMPLETE for each in contexts]


def execute_sync(handler: Handler, contexts: Sequence[SyncContext]) -> list[Outcome]:
    """Run a handler that is a plain function in this thread, and say what came of each message."""
    given = called_with(handler, contexts, SyncContexts)
    span = begin(contexts) if tracing.PACKAGE in tracing.modules else None
    if given is not None:
        try:
            handler.function(*given)
        except BaseException as error:
            fail_all(handler, contexts, error)
    if span is not None:
        tracing.end(span, *ended(contexts))
    return [each.outcome or COMPLETE for each in contexts]


def begin(contexts: Sequence[Context] | Sequence[SyncContext]) -> Any:
    """Begin the span of an attempt."""
    queue = getattr(contexts[0]._port, "schema", "lonnymq")
    return tracing.begin(queue, [each.message for each in contexts])


def ended(contexts: Sequence[Facts]) -> tuple[BaseException | None, str | None]:
    """How an attempt ended, for its span: what was raised, and what becomes of the message."""
    errors = [each.error for each in contexts if each.error is not None]
    words = {WORDS[type(each.outcome or COMPLETE)] for each in contexts}
    return next(iter(errors), None), next(iter(words)) if len(words) == 1 else "mixed"


def called_with(
    handler: Handler, contexts: Sequence[Facts], together: Any
) -> tuple[Any, ...] | None:
    """What the function is called with; None if no payload fits."""
    if handler.batch is None:
        context = contexts[0]
        payload = read(handler, context)
        return None if payload is UNFIT else arguments(handler, payload, context)
    pairs = [(read(handler, context), context) for context in contexts]
    fit = [each for each in pairs if each[0] is not UNFIT]
    if not fit:
        return None
    return arguments(handler, [each[0] for each in fit], together(each[1] for each in fit))


def read(handler: Handler, context: Facts) -> Any:
    """The payload; of one that does not fit, the outcome is named: dead, with the reason."""
    if handler.decode is None:
        return None
    try:
        return handler.decode(context.message.content)
    except Unfit as unfit:
        context.error = unfit
        context.outcome = Fail(cut(clean(str(unfit)), MOST_REASON), dead=True)
        return UNFIT


def arguments(handler: Handler, payload: Any, context: Any) -> tuple[Any, ...]:
    """What the function takes of payload and context."""
    if handler.decode is None:
        return (context,) if handler.takes_context else ()
    return (payload, context) if handler.takes_context else (payload,)


def fail_all(handler: Handler, contexts: Sequence[Facts], error: BaseException) -> None:
    """Judge what a handler raised, for all messages that it was given and that are not settled by then."""
    for context in contexts:
        if isinstance(context.error, Unfit):
            continue
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
