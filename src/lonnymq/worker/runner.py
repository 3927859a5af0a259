"""Runs handlers: a job for each message or batch, a slot for each message, and how each of them ends."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from logging import INFO

from lonnymq.results import LeasedMessage
from lonnymq.worker import reporter as hooking
from lonnymq.worker.context import Context, Facts, SyncContext
from lonnymq.worker.execution import execute, execute_sync, fail_all, without_handler
from lonnymq.worker.handler_connections import AsyncPort, SyncPort
from lonnymq.worker.handlers import Handler, Handlers
from lonnymq.worker.outcomes import COMPLETE, Defer, Outcome
from lonnymq.worker.pools import Lanes, Threads
from lonnymq.worker.reporter import LEVELS, Hooks, log_settled, logger
from lonnymq.worker.settler import Settler


class Job:
    """One call of a handler: its messages, the task that it runs in, and whether its outcome still counts."""

    __slots__ = ("contexts", "handler", "is_over", "task")

    def __init__(self, handler: Handler, contexts: Sequence[Facts]) -> None:
        self.handler, self.contexts = handler, contexts
        self.task: asyncio.Task[None] | None = None
        self.is_over = False


class Jobs:
    """The jobs of one worker, and the slots that are free."""

    def __init__(
        self,
        handlers: Handlers,
        hooks: Hooks,
        *,
        settler: Settler,
        ports: tuple[AsyncPort, SyncPort],
        concurrency: int,
        worker: str,
    ) -> None:
        self.handlers, self.hooks, self.settler, self.worker = handlers, hooks, settler, worker
        self.async_port, self.sync_port = ports
        self.concurrency = self.free = concurrency
        self.threads = Threads(worker)
        self.lanes: Lanes[Job] = Lanes(self.work)
        self.leases: dict[Facts, Job | None] = {}
        self.running: set[Job] = set()
        self.freed, self.idle = asyncio.Event(), asyncio.Event()
        self.reports: set[asyncio.Task[None]] = set()
        self.counts: dict[str, int] = {}
        self.told: Callable[[Facts, str], None] | None = None  # hears of every message settled

    # How a job begins

    def start(self, messages: Sequence[LeasedMessage]) -> None:
        """Begin with these messages at once: each has a slot."""
        batches: dict[Handler, list[LeasedMessage]] = {}
        now = time.monotonic()
        for message in messages:
            handler = self.handlers.get(message.kind)
            if handler is None:
                self.refuse(message)
            elif handler.batch is None:
                self.begin(handler, (self.context(handler, message, now),))
            else:
                batches.setdefault(handler, []).append(message)
        for handler, together in batches.items():
            size = handler.batch or 1
            contexts = [self.context(handler, each, now) for each in together]
            for at in range(0, len(together), size):
                self.begin(handler, contexts[at : at + size])

    def begin(self, handler: Handler, contexts: Sequence[Facts]) -> None:
        """Begin one job."""
        job = Job(handler, contexts)
        self.free -= len(contexts)
        self.running.add(job)
        for context in contexts:
            self.leases[context] = job
        self.lanes.put(job)

    def context(self, handler: Handler, message: LeasedMessage, now: float) -> Facts:
        """The context that this handler takes."""
        if handler.is_async:
            return Context(message, self.async_port, now)
        return SyncContext(message, self.sync_port, now)

    def refuse(self, message: LeasedMessage) -> None:
        """Fail a message that no handler takes."""
        context = Facts(message)
        outcome = without_handler(message, self.handlers)
        context.error = LookupError(outcome.error)
        self.leases[context] = None
        self.settler.put(context, outcome)
        if self.hooks.error:
            self.report_by(hooking.call(self.hooks.error, context, context.error))

    def give_back(self, context: Facts) -> None:
        """Put a message back where it stood, with the state that it had; no attempt is used up."""
        self.leases.setdefault(context, None)
        self.settler.put(context, Defer(dequeue_at=context.message.dequeue_at))

    # How it goes and ends

    async def work(self, job: Job) -> None:
        """One job from its beginning to its end."""
        contexts = job.contexts
        if contexts[0].lost and all(each.lost for each in contexts):
            self.end(job)
            return self.settle(job, None)
        began = time.monotonic()
        outcomes: list[Outcome] | None = None
        try:
            if self.hooks.before:
                for context in contexts:
                    await hooking.call(self.hooks.before, context)
            if job.handler.is_async:
                outcomes = await execute(job.handler, contexts)  # type: ignore[arg-type]  # made for it
            else:
                work = partial(execute_sync, job.handler, contexts)  # type: ignore[arg-type]  # made for it
                outcomes = await self.threads.run(work)
        except asyncio.CancelledError:
            pass
        except BaseException as error:  # of a hook, or our own: no message is left without an end
            fail_all(job.handler, contexts, error)
            outcomes = [each.outcome or COMPLETE for each in contexts]
        finally:
            ended = time.monotonic()
            for context in contexts:
                context.began, context.ended = began, ended
            self.end(job)
        if self.hooks.error:
            for context in contexts:
                if context.error is not None:
                    self.report_by(hooking.call(self.hooks.error, context, context.error))
        return self.settle(job, outcomes)

    def end(self, job: Job) -> None:
        """Free the slots of a job."""
        self.running.discard(job)
        self.free += len(job.contexts)
        self.freed.set()
        if not self.running:
            self.idle.set()

    def settle(self, job: Job, outcomes: Sequence[Outcome] | None) -> None:
        """Hand in what came of a job's messages; if it was cancelled, those that are still ours are given back."""
        if job.is_over:
            return
        job.is_over = True
        for at, context in enumerate(job.contexts):
            if context.settled is not None:
                self.report(context, context.settled)
            elif context.lost:
                self.report(context, "lease_lost")
            elif outcomes is None:
                self.give_back(context)
            else:
                self.settler.put(context, outcomes[at])

    def report(self, context: Facts, answer: str) -> None:
        """Tell of a message that is settled."""
        self.report_all([(context, answer)])

    def report_all(self, settled: Iterable[tuple[Facts, str]]) -> None:
        """Tell of messages that are settled: to the log, and to the hooks."""
        for context, answer in settled:
            if self.leases.pop(context, self) is self:
                continue  # told already
            self.counts[answer] = self.counts.get(answer, 0) + 1
            if logger.isEnabledFor(LEVELS.get(answer, INFO)):
                log_settled(context, answer, self.worker)
            if self.told is not None:
                self.told(context, answer)
            if self.hooks.after:
                self.report_by(hooking.call(self.hooks.after, context, answer))

    def report_by(self, telling: object) -> None:
        """Have hooks called in the background."""
        task = asyncio.ensure_future(telling)  # type: ignore[call-overload]  # a coroutine
        self.reports.add(task)
        task.add_done_callback(self.reports.discard)

    # How it is cut short

    def lose(self, context: Facts) -> None:
        """Tell a handler that its lease is lost; it is cancelled once none of its leases is left."""
        job = self.leases.get(context)
        context.lost = True
        if job is None or job.task is None or job not in self.running:
            return
        if not job.handler.is_async:
            self.report(context, "lease_lost")
        if all(each.lost for each in job.contexts) and job.handler.is_async:
            job.task.cancel()

    async def cut(self, seconds: float) -> None:
        """Cancel what still runs, and give back what has not ended by then, or not begun."""
        for job in self.lanes.drop():
            self.end(job)
            self.settle(job, None)
        for job in list(self.running):
            if job.handler.is_async and job.task is not None:
                job.task.cancel()
        tasks = [job.task for job in self.running if job.task is not None and job.handler.is_async]
        if tasks:
            await asyncio.wait(tasks, timeout=seconds)
        for job in list(self.running):
            self.settle(job, None)

    def tell_stopping(self) -> None:
        """Tell every handler that the worker is about to end."""
        for context in self.leases:
            context.stopping = True
