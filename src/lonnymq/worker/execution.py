"""Runs one handler: reads the payload, calls the function and returns an outcome. Knows no event loop and no queue.

An outcome says what happened, and `message_fail` in the database decides between retry and dead. Two things of a
failure come from here because the database does not know a handler's options: the wanted delay, which is the
handler's own back-off for this attempt, and the handler's limit of attempts.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

from lonnymq import tracing
from lonnymq.errors import LonnyMQError
from lonnymq.payloads import InvalidPayload
from lonnymq.results import LeasedMessage
from lonnymq.worker.context import Context, Contexts, HandlerContext, SyncContext, SyncContexts
from lonnymq.worker.error_text import cut_middle, format_error, make_storable
from lonnymq.worker.handlers import Handler, Handlers
from lonnymq.worker.outcomes import OUTCOME_NAMES, Dead, Fail, Outcome, RetryAfter

logger = logging.getLogger("lonnymq.worker")

Middleware = Callable[[Any, Callable[[], Awaitable[Any]]], Awaitable[Any]]
MAX_REASON_BYTES = 2048
INVALID = object()


def fail_without_handler(message: LeasedMessage, handlers: Handlers) -> Fail:
    """Return the outcome of a message without a handler here. A newer worker may have one, so this is no `dead`."""
    known = ", ".join(sorted(str(kind) for kind in handlers.kinds if kind is not None)) or "none"
    kind = "without a kind" if message.kind is None else f"of kind {message.kind!r}"
    return Fail(f"this worker has no handler for messages {kind} (kinds with a handler: {known})")


async def execute(
    handler: Handler,
    contexts: Sequence[Context] | Sequence[SyncContext],
    function: Callable[..., Awaitable[Any]] | None = None,
) -> list[Outcome]:
    """Run an async handler for one message or a batch, and return the outcomes.

    `function` is called instead of the handler's function: the same with middleware around, or in a thread.
    """
    arguments = build_arguments(handler, contexts, batch_type_of(handler))
    function = function or handler.function
    span = start_span(contexts) if tracing.PACKAGE in tracing.modules else None
    if arguments is not None:
        try:
            if handler.timeout_ms is None:
                answer = await function(*arguments)
            else:
                async with asyncio.timeout(handler.timeout_ms / 1000):
                    answer = await function(*arguments)
            if answer is not None:
                keep_result(handler, contexts, answer)
        except asyncio.CancelledError as error:
            if any(each.lost or each.stopping for each in contexts):
                if span is not None:
                    tracing.end_attempt(span, error, None)
                raise
            fail_all(handler, contexts, error)
        except BaseException as error:
            fail_all(handler, contexts, error)
    if span is not None:
        end_span(span, contexts)
    return outcomes_of(contexts)


def execute_sync(handler: Handler, contexts: Sequence[SyncContext]) -> list[Outcome]:
    """Run a plain function in this thread for one message or a batch, and return the outcomes."""
    arguments = build_arguments(handler, contexts, batch_type_of(handler))
    span = start_span(contexts) if tracing.PACKAGE in tracing.modules else None
    if arguments is not None:
        try:
            answer = handler.function(*arguments)
            if answer is not None:
                keep_result(handler, contexts, answer)
        except BaseException as error:
            fail_all(handler, contexts, error)
    if span is not None:
        end_span(span, contexts)
    return outcomes_of(contexts)


def wrap_function(
    middleware: Sequence[Middleware],
    handler: Handler,
    contexts: Sequence[HandlerContext],
    function: Callable[..., Awaitable[Any]],
) -> Callable[..., Awaitable[Any]]:
    """Return the function with middleware around, the first outermost. The answer is that of the function."""

    async def call(*arguments: Any) -> Any:
        answers: list[Any] = []

        async def call_next() -> Any:
            answers[:] = [await function(*arguments)]
            return answers[0]

        valid = [each for each in contexts if not isinstance(each.error, InvalidPayload)]
        subject = valid[0] if handler.batch is None else batch_type_of(handler)(valid)
        for each in reversed(middleware):
            call_next = partial(each, subject, call_next)  # type: ignore[assignment]  # called without arguments too
        await call_next()
        return answers[0] if answers else None

    return call


def batch_type_of(handler: Handler) -> Any:
    """Return the type of the contexts of a batch."""
    return Contexts if handler.is_async else SyncContexts


def require_finished(handler: Handler, answer: object) -> None:
    """Raise if a handler returned work that nobody has done yet."""
    if inspect.iscoroutine(answer):
        answer.close()
    if inspect.isawaitable(answer) or inspect.isgenerator(answer) or inspect.isasyncgen(answer):
        raise TypeError(
            f"handler {handler.title} returned a {type(answer).__name__}, which nobody runs: "
            "declare the handler with async def, and await the call"
        )


def outcomes_of(contexts: Sequence[HandlerContext]) -> list[Outcome]:
    """Return the outcome of each message. A message without a stated outcome is completed."""
    return [each.outcome or each.completion() for each in contexts]


def keep_result(handler: Handler, contexts: Sequence[HandlerContext], answer: object) -> None:
    """Keep what a handler returned. A result that cannot be stored is logged: the work is done, and not repeated."""
    require_finished(handler, answer)
    if handler.batch is not None or not handler.max_result_bytes:
        return
    try:
        contexts[0].result = answer
    except LonnyMQError as error:
        logger.warning("cannot store the result of message %s: %s", contexts[0].id, error)


def start_span(contexts: Sequence[Context] | Sequence[SyncContext]) -> Any:
    """Start the span of an attempt."""
    queue = getattr(contexts[0]._connections, "schema", "lonnymq")
    source = getattr(contexts[0]._connections, "source", None)
    return tracing.start_attempt(queue, [each.message for each in contexts], source)


def end_span(span: Any, contexts: Sequence[HandlerContext]) -> None:
    """End the span of an attempt with the first error and the outcome."""
    errors = [each.error for each in contexts if each.error is not None]
    names = {OUTCOME_NAMES[type(each)] for each in outcomes_of(contexts)}
    outcome = next(iter(names)) if len(names) == 1 else "mixed"
    tracing.end_attempt(span, next(iter(errors), None), outcome)


def build_arguments(
    handler: Handler, contexts: Sequence[HandlerContext], batch_type: Any
) -> tuple[Any, ...] | None:
    """Return the arguments of the function, or None if no payload is valid."""
    for each in contexts:
        each.max_result_bytes = handler.max_result_bytes
    if handler.batch is None:
        context = contexts[0]
        payload = read_payload(handler, context)
        return None if payload is INVALID else handler.arguments(payload, context)
    pairs = [(read_payload(handler, context), context) for context in contexts]
    valid = [each for each in pairs if each[0] is not INVALID]
    if not valid:
        return None
    return handler.arguments([each[0] for each in valid], batch_type(each[1] for each in valid))


def read_payload(handler: Handler, context: HandlerContext) -> Any:
    """Decode the payload. A payload that does not match is not retried, and the outcome holds the reason."""
    if handler.decode is None:
        return None
    try:
        return handler.decode(context.message.content)
    except InvalidPayload as error:
        context.error = error
        context.outcome = Fail(cut_middle(make_storable(str(error)), MAX_REASON_BYTES), dead=True)
        return INVALID


def fail_all(handler: Handler, contexts: Sequence[HandlerContext], error: BaseException) -> None:
    """Fail all messages of a call that raised, except those that are invalid or settled already."""
    for context in contexts:
        if isinstance(context.error, InvalidPayload):
            continue
        context.error = error
        if context.is_completed_by_handler:
            context.settled = None  # the exception has undone the handler's transaction
        if context.settled is None:
            context.outcome = describe_failure(handler, context.attempt, error)


def describe_failure(handler: Handler, attempt: int, error: BaseException) -> Fail:
    """Describe a failed attempt for the database, which decides what comes next."""
    text = format_error(error)
    if isinstance(error, Dead):
        return Fail(text, dead=True)
    delay = error.delay_ms if isinstance(error, RetryAfter) else handler.retry_ms(attempt)
    return Fail(text, retry_ms=delay, max_attempts=handler.max_attempts)
