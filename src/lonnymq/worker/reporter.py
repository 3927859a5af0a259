"""Last step of a message, after fetch, run and settle: reports the answer to the log, to hooks and to a listener."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from lonnymq.worker.context import HandlerContext
from lonnymq.worker.error_text import format_error, format_text, locate_error
from lonnymq.worker.settings import LoggedErrors

logger = logging.getLogger("lonnymq.worker")

Hook = Callable[..., Any]
Settled = tuple[HandlerContext, str]
Leases = dict[HandlerContext, Any]  # every message that is not reported yet, with its job

LEVELS = {
    "completed": logging.DEBUG,
    "deferred": logging.DEBUG,
    "retrying": logging.WARNING,
    "failed": logging.WARNING,
    "dead": logging.ERROR,
    "lease_lost": logging.WARNING,
    "not_found": logging.WARNING,
}


class Hooks:
    """Your functions to call before a handler, after a message is settled, after a handler raised, and around one."""

    def __init__(self) -> None:
        self.before: list[Hook] = []
        self.after: list[Hook] = []
        self.error: list[Hook] = []
        self.middleware: list[Hook] = []


class Reporter:
    """Reports each settled message once. A report ends the message's entry in `leases`."""

    def __init__(
        self, hooks: Hooks, leases: Leases, *, worker: str, log_errors: LoggedErrors = "location"
    ) -> None:
        self.hooks, self.leases, self.worker = hooks, leases, worker
        self.log_errors = log_errors
        self.counts: dict[str, int] = {}
        self.tasks: set[asyncio.Task[None]] = set()
        self.listener: Callable[[HandlerContext, str], None] | None = None
        self.on_report: Callable[[], None] = lambda: None

    def report(self, settled: Iterable[Settled]) -> None:
        """Report settled messages. A settled message may have freed capacity, which `on_report` announces."""
        for context, answer in settled:
            if self.leases.pop(context, self) is not self:  # else reported already
                self.report_message(context, answer)
        self.on_report()

    def report_message(self, context: HandlerContext, answer: str) -> None:
        """Count one message, log the answer, and call the listener and the hooks."""
        self.counts[answer] = self.counts.get(answer, 0) + 1
        if logger.isEnabledFor(LEVELS.get(answer, logging.INFO)):
            log_settled(context, answer, self.worker, self.log_errors)
        if self.listener is not None:
            self.listener(context, answer)
        if self.hooks.after:
            self.start(call_hooks(self.hooks.after, context, answer))

    def report_error(self, context: HandlerContext) -> None:
        """Call the error hooks if the handler raised."""
        if self.hooks.error and context.error is not None:
            self.start(call_hooks(self.hooks.error, context, context.error))

    def start(self, calls: Coroutine[Any, Any, None]) -> None:
        """Call hooks in the background."""
        task = asyncio.create_task(calls)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)


async def call_hooks(hooks: list[Hook], context: HandlerContext, *more: Any) -> None:
    """Call hooks, plain or async, one after another. A hook that fails is logged and ignored."""
    for hook in hooks:
        try:
            answer = hook(context, *more)
            if inspect.isawaitable(answer):
                await answer
        except Exception as error:
            logger.error("a hook failed: %s", locate_error(error), extra=message_fields(context))


def message_fields(context: HandlerContext, **more: Any) -> dict[str, Any]:
    """Return the fields of a log record about one message, for `extra=`."""
    message = context.message
    return {
        "message_id": message.id,
        "channel": message.channel,
        "kind": message.kind,
        "attempt": message.attempt,
        **more,
    }


def log_settled(
    context: HandlerContext, answer: str, worker: str, log_errors: LoggedErrors = "location"
) -> None:
    """Log one settled message. The error's words, which may quote a payload, are logged only if asked for."""
    raised = context.error
    error = locate_error(raised) if raised is not None else None
    if raised is not None and log_errors != "location":
        error = f"{error}: {format_text(raised)}"
    elapsed_ms = round(context.elapsed_ms, 3)
    extra = message_fields(
        context, answer=answer, worker=worker, elapsed_ms=elapsed_ms, error=error
    )
    text = f"message {context.id} of {context.channel}: {answer}"
    level = LEVELS.get(answer, logging.INFO)
    if raised is not None and log_errors == "traceback":
        extra["traceback"] = format_error(raised)
        text = f"{text}\n{extra['traceback']}"
    elif error:
        text = f"{text} ({error})"
    logger.log(level, "%s", text, extra=extra)
