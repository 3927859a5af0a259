"""Second step of a message, after fetch: runs its handler in a slot and hands the outcome to the settler."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from math import inf
from typing import Any

from lonnymq.results import LeasedMessage
from lonnymq.worker.context import Context, HandlerContext, SyncContext
from lonnymq.worker.execution import (
    execute,
    execute_sync,
    fail_all,
    fail_without_handler,
    outcomes_of,
    wrap_function,
)
from lonnymq.worker.handler_connections import AsyncHandlerConnections, SyncHandlerConnections
from lonnymq.worker.handlers import Handler, Handlers
from lonnymq.worker.outcomes import Defer, Outcome
from lonnymq.worker.pools import TaskPool, ThreadPool
from lonnymq.worker.reporter import Hooks, Leases, call_hooks, message_fields
from lonnymq.worker.settler import Settler

logger = logging.getLogger("lonnymq.worker")

MAX_FETCH = 1000
MAX_BACKLOG = 1000  # settlements, and four times the slots on top


class Job:
    """One call of a handler: the messages, the task, and whether the messages were handed on."""

    __slots__ = ("contexts", "handler", "is_sent", "task")

    def __init__(self, handler: Handler, contexts: Sequence[HandlerContext]) -> None:
        self.handler, self.contexts = handler, contexts
        self.task: asyncio.Task[None] | None = None
        self.is_sent = False


class Runner:
    """The running jobs of one worker, and the slots that are free. Each message takes a slot."""

    def __init__(
        self,
        handlers: Handlers,
        hooks: Hooks,
        settler: Settler,
        *,
        leases: Leases,
        connections: tuple[AsyncHandlerConnections, SyncHandlerConnections],
        concurrency: int,
        worker: str,
    ) -> None:
        self.handlers, self.hooks, self.settler, self.leases = handlers, hooks, settler, leases
        self.async_connections, self.sync_connections = connections
        self.concurrency = self.free = concurrency
        self.threads = ThreadPool(worker)
        self.tasks: TaskPool[Job] = TaskPool(self.run)
        self.running: set[Job] = set()
        self.freed, self.idle = asyncio.Event(), asyncio.Event()

    # Capacity

    async def wait_for_slots(self) -> int:
        """Return how many messages may be fetched now, or 0 after a wait for a slot or for the settler."""
        if self.free <= 0:
            self.freed.clear()
            await self.freed.wait()
            return 0
        if self.settler.backlog > MAX_BACKLOG + 4 * self.concurrency:
            self.settler.progress.clear()
            await self.settler.progress.wait()
            return 0
        return min(self.free, MAX_FETCH)

    def stop_waiting(self) -> None:
        """End a wait for slots."""
        self.freed.set()
        self.settler.progress.set()

    # From the fetcher

    def start(self, messages: Sequence[LeasedMessage], *, expires_at: float = inf) -> None:
        """Start the handlers of messages at once. Each message has a slot, and a lease that ends at `expires_at`."""
        now = time.monotonic()
        for handler, batch in self.split_batches(messages):
            job = Job(handler, [self.create_context(handler, each, now) for each in batch])
            self.free -= len(batch)
            self.running.add(job)
            for context in job.contexts:
                context.expires_at = expires_at
                self.leases[context] = job
            self.tasks.add(job)

    def split_batches(
        self, messages: Sequence[LeasedMessage]
    ) -> Iterator[tuple[Handler, Sequence[LeasedMessage]]]:
        """Yield the messages of each call. Messages without a handler go straight to the settler."""
        batches: dict[Handler, list[LeasedMessage]] = {}
        for message in messages:
            handler = self.handlers.get(message.kind)
            if handler is None:
                self.reject(message)
            elif handler.batch is None:
                yield handler, (message,)
            else:
                batches.setdefault(handler, []).append(message)
        for handler, together in batches.items():
            size = handler.batch or 1
            for at in range(0, len(together), size):
                yield handler, together[at : at + size]

    def create_context(
        self, handler: Handler, message: LeasedMessage, now: float
    ) -> HandlerContext:
        """Create the context for this kind of handler."""
        if handler.is_async:
            return Context(message, self.async_connections, now)
        return SyncContext(message, self.sync_connections, now)

    def reject(self, message: LeasedMessage) -> None:
        """Fail a message that has no handler here."""
        context = HandlerContext(message)
        outcome = fail_without_handler(message, self.handlers)
        context.error = LookupError(outcome.error)
        self.leases[context] = None
        self.settler.add(context, outcome)
        self.settler.reporter.report_error(context)

    def give_back(self, context: HandlerContext) -> None:
        """Put a message back at its old position with its old state. The attempt does not count."""
        self.leases.setdefault(context, None)
        self.settler.add(context, Defer(dequeue_at=context.message.dequeue_at))

    # The run

    async def run(self, job: Job) -> None:
        """Run one job and hand its messages on."""
        contexts = job.contexts
        if contexts[0].lost and all(each.lost for each in contexts):
            self.free_slots(job)
            return self.send_to_settler(job, None)
        started_at = time.monotonic()
        outcomes: list[Outcome] | None = None
        try:
            if self.hooks.before:
                for context in contexts:
                    await call_hooks(self.hooks.before, context)
            outcomes = await self.call(job)
        except asyncio.CancelledError:
            pass
        except BaseException as error:  # of a hook, or our own: every message needs an outcome
            fail_all(job.handler, contexts, error)
            outcomes = outcomes_of(contexts)
        finally:
            ended_at = time.monotonic()
            for context in contexts:
                context.started_at, context.ended_at = started_at, ended_at
            self.free_slots(job)
        if self.hooks.error:
            for context in contexts:
                self.settler.reporter.report_error(context)
        return self.send_to_settler(job, outcomes)

    def call(self, job: Job) -> Awaitable[list[Outcome]]:
        """Call the handler: an async function in this task, a plain function in a thread."""
        contexts: Sequence[Any] = job.contexts  # of the class for this handler
        if self.hooks.middleware:
            function = job.handler.function if job.handler.is_async else self.in_thread(job.handler)
            wrapped = wrap_function(self.hooks.middleware, job.handler, contexts, function)
            return execute(job.handler, contexts, wrapped)
        if job.handler.is_async:
            return execute(job.handler, contexts)
        return self.threads.run(partial(execute_sync, job.handler, contexts))

    def in_thread(self, handler: Handler) -> Callable[..., Awaitable[Any]]:
        """Return a plain function as an async function that runs in a thread."""
        return lambda *arguments: self.threads.run(partial(handler.function, *arguments))

    def free_slots(self, job: Job) -> None:
        """Free the slots of a job."""
        self.running.discard(job)
        self.free += len(job.contexts)
        self.freed.set()
        if not self.running:
            self.idle.set()

    # To the settler

    def send_to_settler(self, job: Job, outcomes: Sequence[Outcome] | None) -> None:
        """Hand the messages of a job to the settler, once. Without outcomes the messages are given back."""
        if job.is_sent:
            return
        job.is_sent = True
        for at, context in enumerate(job.contexts):
            if context.settled is not None:
                self.settler.skip(context, context.settled)
            elif context.lost:
                self.settler.skip(context, "lease_lost")
            elif outcomes is None:
                self.give_back(context)
            else:
                self.settler.add(context, outcomes[at])

    # Interruptions

    def lose(self, context: HandlerContext) -> None:
        """Note that a lease is lost, and cancel the handler once all of its leases are lost.

        If the handler has ended or commits just now, the settlement finds out by itself.
        """
        job: Job | None = self.leases.get(context)
        if job is None or job.is_sent or context.committing:
            return
        context.lost = True
        if job.task is None or job not in self.running:
            return
        if not job.handler.is_async:
            self.settler.skip(context, "lease_lost")
        elif all(each.lost for each in job.contexts):
            job.task.cancel()

    def expire(self, context: HandlerContext) -> None:
        """Cancel an async handler whose lease nobody could extend: another worker may have the message from now on.

        A thread cannot be cancelled. Its settlement finds out whether the lease is lost.
        """
        context.expires_at = inf
        job: Job | None = self.leases.get(context)
        if job is None or job.is_sent:
            return
        logger.warning(
            "cannot extend the lease of message %s, which another worker may get now",
            context.id,
            extra=message_fields(context),
        )
        if job.handler.is_async:
            self.lose(context)
        else:
            self.sync_connections.cut(context)

    async def cancel(self, seconds: float) -> None:
        """Cancel running handlers, and give back what has not ended after some seconds or not started."""
        for job in self.tasks.remove_waiting():
            self.free_slots(job)
            self.send_to_settler(job, None)
        tasks = [job.task for job in self.running if job.task is not None and job.handler.is_async]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=seconds)
        for job in list(self.running):
            self.send_to_settler(job, None)

    def mark_stopping(self) -> None:
        """Tell every handler that the worker stops."""
        for context in self.leases:
            context.stopping = True
