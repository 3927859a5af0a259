"""One run of a worker in one process: builds the steps of the pipeline, starts them, and stops them in order."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Iterable
from typing import Any

from lonnymq.backoff import Backoff
from lonnymq.client import calls
from lonnymq.client.dsn import describe_dsn
from lonnymq.worker.database import CONNECTION_ERRORS, Database, wait_for
from lonnymq.worker.fetcher import Fetcher, Listener
from lonnymq.worker.handler_connections import AsyncHandlerConnections, SyncHandlerConnections
from lonnymq.worker.handlers import Handlers
from lonnymq.worker.heartbeats import LeaseHeartbeats, Presence, maintain_forever
from lonnymq.worker.loop_monitor import LoopMonitor
from lonnymq.worker.reporter import Hooks, Leases, Reporter
from lonnymq.worker.runner import Runner
from lonnymq.worker.scheduler import DeclaredSchedule, Scheduler
from lonnymq.worker.settings import Settings
from lonnymq.worker.settler import Settler

logger = logging.getLogger("lonnymq.worker")

CANCEL_SECONDS = 2.0  # for handlers to end after they are cancelled
DRAIN_SECONDS = 5.0
TASK_SECONDS = 5.0
RECANCEL_SECONDS = 0.5
TRIM_SECONDS = 10.0
DUE_SECONDS = 0.5  # the longest wait for a report before the next look


class Session:
    """A running worker. The first `stop` lets handlers end within the shutdown timeout, the second cancels them."""

    def __init__(
        self,
        settings: Settings,
        *,
        handlers: Handlers,
        hooks: Hooks,
        schedules: Iterable[DeclaredSchedule] = (),
    ) -> None:
        handlers.served(settings.kinds)  # raises if a kind has no handler
        self.settings, self.schedules = settings, tuple(schedules)
        dsn, schema, lease_ms = settings.dsn, settings.schema, settings.lease_ms
        leases: Leases = {}
        self.database = Database(dsn, schema, seconds=settings.call_seconds)
        self.connections = (
            AsyncHandlerConnections(
                dsn,
                schema=schema,
                lease_ms=lease_ms,
                max_connections=settings.max_connections,
                seconds=settings.call_seconds,
            ),
            SyncHandlerConnections(
                dsn,
                schema=schema,
                lease_ms=lease_ms,
                max_connections=settings.max_connections,
                seconds=settings.call_seconds,
            ),
        )
        self.reporter = Reporter(
            hooks, leases, worker=settings.name, log_errors=settings.log_errors
        )
        self.settler = Settler(
            self.database, self.reporter, flush_interval_ms=settings.flush_interval_ms
        )
        self.runner = Runner(
            handlers,
            hooks,
            self.settler,
            leases=leases,
            connections=self.connections,
            concurrency=settings.concurrency,
            worker=settings.name,
        )
        self.heartbeats = LeaseHeartbeats(self.database, self.runner, settings)
        self.presence = Presence(self.database, self.runner, settings)
        self.fetcher = Fetcher(self.database, self.runner, self.heartbeats, settings)
        self.scheduler = Scheduler(self.database)
        self.stopping, self.stopping_now = asyncio.Event(), asyncio.Event()
        self.tasks: set[asyncio.Task[None]] = set()
        self.fetch_task: asyncio.Task[None] | None = None
        self.failure: BaseException | None = None

    def stop(self) -> None:
        """Fetch nothing new and end. A second call gives all messages back at once."""
        if self.stopping.is_set():
            self.stopping_now.set()
        self.stopping.set()

    async def run(self) -> None:
        """Work until stopped."""
        try:
            if await self.wait_for_database():
                await self.work()
        except asyncio.CancelledError:
            self.stopping_now.set()
            raise
        finally:
            await self.close()
        if self.failure is not None:
            raise self.failure

    async def run_due(self) -> dict[str, int]:
        """Handle the messages that are due until none is left, and return the number of each answer."""
        try:
            for schedule in self.schedules:
                await self.database.run(schedule.call(self.settings.schema))
            await self.scheduler.create_due()
            self.reporter.on_report = self.fetcher.wake.set
            for part in (
                self.settler.run(),
                self.heartbeats.run(),
                self.heartbeats.end_expired(),
            ):
                self.start(part)
            while not (self.stopping.is_set() or await self.fetch_due()):
                pass
        except asyncio.CancelledError:
            self.stopping_now.set()
            raise
        finally:
            await self.close()
        if self.failure is not None:
            raise self.failure
        return dict(self.reporter.counts)

    async def fetch_due(self) -> bool:
        """Fetch once, or wait for a slot or a report. Return whether nothing is due and nothing runs."""
        self.fetcher.wake.clear()
        limit = await self.runner.wait_for_slots()
        pause = await self.fetcher.fetch(limit) if limit else 0
        if pause == 0:
            return False
        if self.runner.leases or self.fetcher.wake.is_set():  # a report meanwhile freed capacity
            await wait_for(self.fetcher.wake, DUE_SECONDS)
            return False
        if pause is None:
            await asyncio.sleep(DUE_SECONDS / 100)
        return pause is not None

    async def wait_for_database(self) -> bool:
        """Wait for the database and store the declared schedules. Return False if stopped before."""
        backoff, schema = Backoff(), self.settings.schema
        while not self.stopping.is_set():
            try:
                await self.database.run(calls.worker_list(schema, after=None, limit=1))
                for schedule in self.schedules:
                    await self.database.run(schedule.call(schema))
            except CONNECTION_ERRORS as error:
                self.database.log_error(error)
                await backoff.sleep()
            else:
                return True
        return False

    async def work(self) -> None:
        """Run all parts until stopped or until a part fails."""
        self.log_start()
        self.reporter.on_report = self.fetcher.wake.set
        self.fetch_task = self.start(self.fetcher.run())
        for part in (
            self.settler.run(),
            self.heartbeats.run(),
            self.heartbeats.end_expired(),
            LoopMonitor(self.runner).run(),
            self.trim_connections(),
            Listener(self.database, self.fetcher, self.scheduler).run(),
            self.scheduler.run(),
            self.presence.run(),
            maintain_forever(self.database),
        ):
            self.start(part)
        await self.stopping.wait()
        await self.stop_handlers()

    def start(self, part: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Start one part of the worker. If the part fails, the worker ends."""
        task = asyncio.create_task(part)
        self.tasks.add(task)
        task.add_done_callback(self.stop_on_failure)
        return task

    def stop_on_failure(self, task: asyncio.Task[None]) -> None:
        """Stop the worker if a part has failed."""
        if not task.cancelled() and task.exception() is not None:
            self.failure = self.failure or task.exception()
            self.stop()

    async def stop_handlers(self) -> None:
        """Let handlers end within the shutdown timeout, and give back the rest."""
        name, running = self.settings.name, len(self.runner.running)
        logger.info("worker %s stopping, %s running", name, running, extra=self.log_fields())
        self.presence.is_stopping = True
        self.fetcher.stop()
        self.runner.mark_stopping()
        self.start(self.presence.report())
        await self.wait_for_handlers()
        await self.runner.cancel(0.1 if self.stopping_now.is_set() else CANCEL_SECONDS)

    async def wait_for_handlers(self) -> None:
        """Wait until no handler runs, up to the shutdown timeout or until stopped a second time."""
        seconds = self.settings.shutdown_timeout_ms / 1000
        over = asyncio.create_task(wait_for(self.stopping_now, seconds))
        while self.runner.running and not over.done():
            self.runner.idle.clear()
            idle = asyncio.create_task(self.runner.idle.wait())
            await asyncio.wait([over, idle], return_when=asyncio.FIRST_COMPLETED)
            idle.cancel()
        over.cancel()

    async def close(self) -> None:
        """Settle the rest, end all tasks and close all connections."""
        self.fetcher.stop()
        if self.fetch_task is not None:
            await asyncio.wait([self.fetch_task], timeout=CANCEL_SECONDS)
        self.runner.mark_stopping()
        await self.runner.cancel(0.1)
        await self.drain()
        await cancel_tasks(self.tasks, TASK_SECONDS)
        if self.tasks and not self.database.is_down:
            await asyncio.wait([self.start(self.presence.remove())], timeout=CANCEL_SECONDS)
        self.runner.tasks.close()
        self.runner.threads.shutdown()
        await self.database.close()
        await self.connections[0].close()
        self.connections[1].close()
        logger.info("worker %s ended", self.settings.name, extra=self.log_fields())

    async def trim_connections(self) -> None:
        """Close idle connections now and then until cancelled."""
        while True:
            await asyncio.sleep(TRIM_SECONDS)
            await self.database.source.trim()
            await self.connections[0].trim()
            self.connections[1].trim()

    def log_start(self) -> None:
        """Log the start of the worker with the database."""
        host, database = describe_dsn(self.settings.dsn)
        logger.info(
            "worker %s started: database %s at %s, schema %s",
            self.settings.name,
            database,
            host,
            self.settings.schema,
            extra=self.log_fields() | {"host": host, "database": database},
        )

    async def drain(self) -> None:
        """Wait for settlements and for hooks."""
        if self.tasks and not await self.settler.drain(DRAIN_SECONDS):
            logger.error(
                "worker %s ended with %s messages not settled, which return when their leases end",
                self.settings.name,
                self.settler.backlog,
                extra=self.log_fields(),
            )
        if self.reporter.tasks:
            await asyncio.wait(self.reporter.tasks, timeout=CANCEL_SECONDS)

    def log_fields(self) -> dict[str, Any]:
        """Return the fields of a log record about the worker."""
        return {"worker": self.settings.name, "running": len(self.runner.running)}


async def cancel_tasks(tasks: Iterable[asyncio.Task[Any]], seconds: float) -> bool:
    """Cancel tasks again and again until all have ended or some seconds have passed. Return whether all have ended.

    A call whose connection breaks just as the call is cancelled ends with the connection's error instead, and a loop
    that survives connection errors goes on.
    """
    left = {task for task in tasks if not task.done()}
    until = asyncio.get_running_loop().time() + seconds
    while left and (rest := until - asyncio.get_running_loop().time()) > 0:
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=min(rest, RECANCEL_SECONDS))
    return not left
