"""One run of a worker in one process: what it starts, how it is told to stop, and how it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any

from lonnymq.client import calls
from lonnymq.worker.context import Facts
from lonnymq.worker.ending import end_all
from lonnymq.worker.fetching import Fetcher
from lonnymq.worker.handlers import Handlers
from lonnymq.worker.hooks import Hooks
from lonnymq.worker.housekeeping import Housekeeper
from lonnymq.worker.jobs import Jobs
from lonnymq.worker.keeping import Keeper
from lonnymq.worker.link import TROUBLE, Backoff, Link, wait
from lonnymq.worker.listening import Listener
from lonnymq.worker.log import logger
from lonnymq.worker.ports import AsyncPort, SyncPort
from lonnymq.worker.scheduling import Declared, Scheduler
from lonnymq.worker.settings import Settings
from lonnymq.worker.settling import Settler

TIDY_SECONDS = 2.0  # for handlers to end once they are cancelled
DRAIN_SECONDS = 5.0
PARTS_SECONDS = 5.0


class Session:
    """A worker at work. The first `stop` lets handlers end within the grace time, the second gives back at once."""

    def __init__(
        self,
        settings: Settings,
        *,
        handlers: Handlers,
        hooks: Hooks,
        schedules: Iterable[Declared] = (),
    ) -> None:
        self.settings, self.schedules = settings, tuple(schedules)
        dsn, schema, lease_ms = settings.dsn, settings.schema, settings.lease_ms
        self.link = Link(dsn, schema)
        self.ports = (
            AsyncPort(dsn, schema=schema, lease_ms=lease_ms),
            SyncPort(dsn, schema=schema, lease_ms=lease_ms),
        )
        self.settler = Settler(self.link, settle_ms=settings.settle_ms, report=self.report)
        self.jobs = Jobs(
            handlers,
            hooks,
            settler=self.settler,
            ports=self.ports,
            concurrency=settings.concurrency,
            worker=settings.name,
        )
        self.keeper = Keeper(self.link, self.jobs, settings)
        self.fetcher = Fetcher(self.link, self.jobs, settings, self.keeper)
        self.housekeeper = Housekeeper(self.link, self.jobs, settings)
        self.stopping, self.at_once = asyncio.Event(), asyncio.Event()
        self.tasks: set[asyncio.Task[None]] = set()
        self.fetching: asyncio.Task[None] | None = None
        self.broken: BaseException | None = None

    def report(self, settled: list[tuple[Facts, str]]) -> None:
        """Pass on what was settled; it may have freed a place in its channel, of which nobody is notified."""
        self.jobs.report_all(settled)
        self.fetcher.told.set()

    def stop(self) -> None:
        """Take nothing new and end; said a second time, give back at once."""
        if self.stopping.is_set():
            self.at_once.set()
        self.stopping.set()

    async def run(self) -> None:
        """Work until told to stop."""
        try:
            if await self.ready():
                await self.work()
        except asyncio.CancelledError:
            self.at_once.set()
            raise
        finally:
            await self.end()
        if self.broken is not None:
            raise self.broken

    async def ready(self) -> bool:
        """Wait for the database and store the declared schedules; False if told to stop before."""
        backoff = Backoff()
        while not self.stopping.is_set():
            try:
                await self.link.run(calls.worker_list(self.settings.schema, after=None, limit=1))
                for schedule in self.schedules:
                    await self.link.run(schedule.call(self.settings.schema))
            except TROUBLE as error:
                self.link.down(error)
                await backoff.pause()
            else:
                return True
        return False

    async def work(self) -> None:
        """Do what a worker does, until told to stop or a part of it breaks."""
        logger.info("worker %s is at work", self.settings.name, extra=self.fields())
        self.fetching = self.begin(self.fetcher.run())
        for part in (
            self.settler.run(),
            self.keeper.run(),
            Listener(self.link, self.fetcher).run(),
            Scheduler(self.link).run(),
            self.housekeeper.be_seen(),
            self.housekeeper.sweep(),
        ):
            self.begin(part)
        await self.stopping.wait()
        await self.wind_down()

    def begin(self, part: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Start one part of the worker; should it break, the worker ends."""
        task = asyncio.create_task(part)
        self.tasks.add(task)
        task.add_done_callback(self.look_after)
        return task

    def look_after(self, task: asyncio.Task[None]) -> None:
        """See how a part has ended."""
        if not task.cancelled() and task.exception() is not None:
            self.broken = self.broken or task.exception()
            self.stop()

    async def wind_down(self) -> None:
        """Let handlers end within the grace time, and give back the rest."""
        logger.info(
            "worker %s stops, %s running", self.settings.name, len(self.jobs.running),
            extra=self.fields(),
        )  # fmt: skip
        self.housekeeper.is_stopping = True
        self.fetcher.stop()
        self.jobs.tell_stopping()
        self.begin(self.housekeeper.quietly(self.housekeeper.seen()))
        await self.let_end()
        await self.jobs.cut(0.1 if self.at_once.is_set() else TIDY_SECONDS)

    async def let_end(self) -> None:
        """Wait until no handler runs, for the grace time at most, or until that is cut short."""
        over = asyncio.create_task(wait(self.at_once, self.settings.grace_ms / 1000))
        while self.jobs.running and not over.done():
            self.jobs.idle.clear()
            idle = asyncio.create_task(self.jobs.idle.wait())
            await asyncio.wait([over, idle], return_when=asyncio.FIRST_COMPLETED)
            idle.cancel()
        over.cancel()

    async def end(self) -> None:
        """Settle what is left, and let go of everything."""
        self.fetcher.stop()
        if self.fetching is not None:
            await asyncio.wait([self.fetching], timeout=TIDY_SECONDS)
        self.jobs.tell_stopping()
        await self.jobs.cut(0.1)
        if self.tasks and not await self.settler.drain(DRAIN_SECONDS):
            logger.error(
                "worker %s ends with %s messages not settled: they come back when their leases end",
                self.settings.name,
                self.settler.backlog,
                extra=self.fields(),
            )
        if self.jobs.reports:
            await asyncio.wait(self.jobs.reports, timeout=TIDY_SECONDS)
        await end_all(self.tasks, PARTS_SECONDS)
        if self.tasks and not self.link.is_down:
            await asyncio.wait([self.begin(self.housekeeper.gone())], timeout=TIDY_SECONDS)
        self.jobs.lanes.close()
        self.jobs.threads.shutdown()
        await self.link.close()
        await self.ports[0].close()
        self.ports[1].close()
        logger.info("worker %s has ended", self.settings.name, extra=self.fields())

    def fields(self) -> dict[str, Any]:
        """The fields of a record about the worker."""
        return {"worker": self.settings.name, "running": len(self.jobs.running)}
