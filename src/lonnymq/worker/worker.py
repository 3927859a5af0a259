"""The worker as a program declares it: handlers by kind, schedules, hooks, and how to run them."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any, TypeVar

import psycopg

from lonnymq.client import Queue
from lonnymq.client.arguments import Bytes, Duration, milliseconds, number, optional
from lonnymq.client.arguments import name as checked_name
from lonnymq.client.call import schema_name
from lonnymq.embedded_postgres.server import DSN_VARIABLE, EmbeddedServer, embedded
from lonnymq.errors import InvalidArgument
from lonnymq.results import MissedTicks
from lonnymq.worker.exposing import exposed, place_of
from lonnymq.worker.handlers import Function, Handlers
from lonnymq.worker.hooks import Hook, Hooks
from lonnymq.worker.scheduling import Declared, declared
from lonnymq.worker.session import Session
from lonnymq.worker.settings import Settings, worker_name
from lonnymq.worker.supervisor import Supervisor
from lonnymq.worker.texts import with_defaults
from lonnymq.worker.threads import run_to_end

Registered = TypeVar("Registered", bound=Function)
CONNECT_SECONDS, SILENT_MS = 5, 15_000
MOST_PROCESSES = 256  # that look for a port of their own


class Worker:
    """Takes messages and gives them to handlers.

    `concurrency` messages are handled at once, in each of `processes` processes.
    A lease lasts `lease_ms` and is extended as long as its handler runs.
    Told to stop, handlers have `grace_ms` to end; the rest is given back.
    Outcomes are gathered for `settle_ms` and stored together.
    Where notifications come through, `poll_ms` is how late a worker is at most that has missed one.
    At `metrics`, a port or host:port, it answers /metrics, /health and /ready; of several processes each takes the
    next free port.
    """

    def __init__(
        self,
        dsn: str | None = None,
        *,
        schema: str = "lonnymq",
        name: str | None = None,
        concurrency: int = 100,
        processes: int = 1,
        lease_ms: Duration = 30_000,
        grace_ms: Duration = 30_000,
        poll_ms: Duration | None = None,
        settle_ms: Duration = 2,
        metrics: str | int | None = None,
    ) -> None:
        self.dsn, self.processes = dsn, count("processes", processes)
        self.metrics = None if metrics is None else ":".join(map(str, place_of(metrics)))
        self.name = optional(checked_name, "name", name)
        self.settings = Settings(
            dsn="",
            schema=schema_name(schema),
            name="",
            concurrency=count("concurrency", concurrency),
            lease_ms=lease(lease_ms),
            grace_ms=milliseconds("grace_ms", grace_ms),
            poll_ms=optional(milliseconds, "poll_ms", poll_ms),
            settle_ms=milliseconds("settle_ms", settle_ms),
        )
        self.handlers, self.hooks = Handlers(), Hooks()
        self._schedules: dict[str, Declared] = {}
        self._session: Session | None = None

    # What it is to do

    def handler(
        self,
        kind: str | None = None,
        *,
        batch: int | None = None,
        retry_delays_ms: Sequence[Duration] = (),
        retry_jitter: float = 0.1,
        max_attempts: int | None = None,
        timeout_ms: Duration | None = None,
    ) -> Callable[[Registered], Registered]:
        """Register a function for messages of a kind: None for those without one, '*' for those nobody else takes."""

        def register(function: Registered) -> Registered:
            self.handlers.add(
                function,
                kind,
                batch=batch,
                retry_delays_ms=retry_delays_ms,
                retry_jitter=retry_jitter,
                max_attempts=max_attempts,
                timeout_ms=timeout_ms,
            )
            return function

        return register

    def schedule(
        self,
        name: str,
        *,
        channel: str,
        cron: str | None = None,
        every_ms: Duration | None = None,
        zone: str = "UTC",
        content: Bytes = b"",
        kind: str | None = None,
        headers: Mapping[str, Any] | None = None,
        missed: MissedTicks = "once",
    ) -> None:
        """Declare a schedule; it is stored when the worker starts, and every worker of the queue creates its ticks."""
        more = {"content": content, "kind": kind, "headers": headers, "missed": missed}
        self._schedules[name] = declared(
            name, channel=channel, cron=cron, every_ms=every_ms, zone=zone, **more
        )

    def before(self, hook: Hook) -> Hook:
        """Have a function called with the context before its handler is."""
        self.hooks.before.append(hook)
        return hook

    def after(self, hook: Hook) -> Hook:
        """Have a function called with the context and the answer once a message is settled."""
        self.hooks.after.append(hook)
        return hook

    def error(self, hook: Hook) -> Hook:
        """Have a function called with the context and the exception when a handler has raised one."""
        self.hooks.error.append(hook)
        return hook

    @property
    def kinds(self) -> tuple[str | None, ...]:
        """The kinds that have a handler."""
        return self.handlers.kinds

    @property
    def schedules(self) -> tuple[Declared, ...]:
        """The schedules that were declared."""
        return tuple(self._schedules.values())

    # How it runs

    def run(
        self,
        dsn: str | None = None,
        *,
        concurrency: int | None = None,
        processes: int | None = None,
        grace_ms: Duration | None = None,
        metrics: str | int | None = None,
    ) -> None:
        """Work until SIGTERM or SIGINT, and return once everything is settled or given back.

        The database is the one given here, else the worker's, else that of LONNYMQ_DSN, else an embedded one.
        """
        self._refuse_idle()
        many = self.processes if processes is None else count("processes", processes)
        if metrics is not None:
            self.metrics = ":".join(map(str, place_of(metrics)))
        with self._server(dsn) as where:
            settings = self._settings(where, concurrency, grace_ms)
            if many == 1:
                return run_to_end(self._serve(settings))
            self._look(settings)
            supervisor = Supervisor(many, self._child(settings), grace_ms=settings.grace_ms)
            if supervisor.run():
                raise SystemExit(1)
        return None

    async def run_async(
        self,
        dsn: str | None = None,
        *,
        concurrency: int | None = None,
        grace_ms: Duration | None = None,
    ) -> None:
        """Work inside a running event loop, without signals, until `stop` or cancelled."""
        self._refuse_idle()
        with self._server(dsn) as where:
            await self._work(self._session_of(self._settings(where, concurrency, grace_ms)))

    def stop(self) -> None:
        """Stop as SIGTERM would; the second time, give back at once. To be called in the worker's own loop."""
        if self._session is not None:
            self._session.stop()

    def _refuse_idle(self) -> None:
        if not len(self.handlers):
            raise InvalidArgument("the worker has no handlers: register one with @worker.handler")

    @contextmanager
    def _server(self, dsn: str | None) -> Iterator[str]:
        """The DSN to use, with a server of our own if there is none."""
        named = dsn or self.dsn or os.environ.get(DSN_VARIABLE)
        if named:
            yield named
            return
        with embedded() as server:
            if isinstance(server, EmbeddedServer):
                Queue(server.dsn, schema=self.settings.schema).install()
            yield server.dsn

    def _settings(self, dsn: str, concurrency: int | None, grace_ms: Duration | None) -> Settings:
        given: dict[str, Any] = {}
        if concurrency is not None:
            given["concurrency"] = count("concurrency", concurrency)
        if grace_ms is not None:
            given["grace_ms"] = milliseconds("grace_ms", grace_ms)
        defaults: dict[str, str | int] = {
            "application_name": "lonnymq worker",
            "connect_timeout": CONNECT_SECONDS,
            "tcp_user_timeout": SILENT_MS,
        }
        named = worker_name(self.name)
        return replace(self.settings, dsn=with_defaults(dsn, **defaults), name=named, **given)

    def _session_of(self, settings: Settings) -> Session:
        self._session = Session(
            settings, handlers=self.handlers, hooks=self.hooks, schedules=self.schedules
        )
        return self._session

    async def _serve(self, settings: Settings, lifeline: int | None = None) -> None:
        """Run a session that signals stop, and the end of the supervisor."""
        session = self._session_of(settings)
        loop = asyncio.get_running_loop()
        with suppress(ValueError):  # in a thread, which hears no signals
            for each in (signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(each, session.stop)
        if lifeline is not None:
            loop.add_reader(lifeline, self._orphaned, lifeline)
        await self._work(session, ports=1 if lifeline is None else MOST_PROCESSES)

    async def _work(self, session: Session, *, ports: int = 1) -> None:
        try:
            async with exposed(session, self.metrics, tries=ports):
                await session.run()
        finally:
            self._session = None

    def _orphaned(self, lifeline: int) -> None:
        """Stop: the supervisor is gone."""
        asyncio.get_running_loop().remove_reader(lifeline)
        self.stop()

    def _child(self, settings: Settings) -> Callable[[int], None]:
        def work(lifeline: int) -> None:
            own = replace(settings, name=worker_name(self.name))
            run_to_end(self._serve(own, lifeline))

        return work

    def _look(self, settings: Settings) -> None:
        """Refuse a database without the queue before anything is started; one that is out of reach is waited for."""
        with (
            suppress(psycopg.OperationalError),
            Queue(settings.dsn, schema=settings.schema) as queue,
        ):
            queue.worker_list(limit=1)


def count(what: str, value: object) -> int:
    """A number of messages or processes."""
    return number(f"{what} must be a whole number from 1 to 10000", value, least=1, most=10_000)


def lease(value: Duration) -> int:
    """How long a lease lasts."""
    allowed = "lease_ms must be from 100 ms to 30 days"
    return number(allowed, milliseconds("lease_ms", value), least=100, most=2_592_000_000)
