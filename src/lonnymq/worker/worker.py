"""`Worker`, as a program declares it: handlers by kind, schedules and hooks, and how to run them."""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any, TypeVar

import psycopg

from lonnymq.client import AsyncQueue, Queue
from lonnymq.client._async.pool import AsyncDsnSource
from lonnymq.client._sync.pool import DsnSource
from lonnymq.client.arguments import (
    Bytes,
    Duration,
    connection_count,
    describe_value,
    milliseconds,
    optional,
)
from lonnymq.client.arguments import name as checked_name
from lonnymq.client.call import schema_name
from lonnymq.client.dsn import complete_dsn
from lonnymq.embedded_postgres import EmbeddedServer
from lonnymq.embedded_postgres import embedded as start_embedded
from lonnymq.embedded_postgres.server import DSN_VARIABLE
from lonnymq.errors import InvalidArgument
from lonnymq.results import Misfire
from lonnymq.task import Task
from lonnymq.worker.handlers import Function, Handlers
from lonnymq.worker.pools import run_event_loop
from lonnymq.worker.reporter import Hook, Hooks
from lonnymq.worker.result_bytes import DEFAULT_RESULT_BYTES
from lonnymq.worker.scheduler import DeclaredSchedule, declare_schedule
from lonnymq.worker.session import Session
from lonnymq.worker.settings import (
    LoggedErrors,
    Settings,
    TenantClass,
    check_channels,
    check_count,
    check_kinds,
    check_lease,
    check_log_errors,
    check_tenant_class,
    parse_address,
    unique_worker_name,
)
from lonnymq.worker.supervisor import Supervisor, stop_signals

Registered = TypeVar("Registered", bound=Function)
APPLICATION_NAME = "lonnymq worker"
MAX_PORTS = 256  # to try, when several processes serve metrics


class Worker:
    """Takes messages and runs their handlers.

    Each of `processes` processes handles up to `concurrency` messages at the same time.
    A lease lasts `lease_ms`, and the worker extends the lease as long as the handler runs.
    After a stop, handlers have `shutdown_timeout_ms` to end. The worker gives back the other messages.
    The worker collects outcomes for `flush_interval_ms` and stores them together.
    The worker looks for messages at least every `poll_interval_ms`, even without a notification.
    The handlers of a process share `max_connections` connections for their transactions.
    The worker takes only kinds of messages that have a handler, or only `kinds` of these, and only from `channels`.
    `embedded=True` starts an embedded server if no DSN is named.
    The log names the type and the line of an error. With `log_errors="text"` the log also has the text of the error,
    and with "traceback" the whole traceback. Both may quote a payload.
    `tenant_class` names the class of a channel, such as "gold", for the metric of waiting times.
    `metrics` is a port or host:port for /metrics, /health and /ready. Each process takes the next free port.
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
        shutdown_timeout_ms: Duration = 30_000,
        poll_interval_ms: Duration | None = None,
        flush_interval_ms: Duration = 2,
        max_connections: int = 10,
        kinds: Iterable[str | None] | None = None,
        channels: Iterable[str] | None = None,
        metrics: str | int | None = None,
        embedded: bool = False,
        log_errors: LoggedErrors = "location",
        tenant_class: TenantClass | None = None,
    ) -> None:
        self.dsn, self.embedded, self.processes = dsn, embedded, check_count("processes", processes)
        self.metrics = checked_address(metrics)
        self.name = optional(checked_name, "name", name)
        self.settings = Settings(
            dsn="",
            schema=schema_name(schema),
            name="",
            concurrency=check_count("concurrency", concurrency),
            lease_ms=check_lease(lease_ms),
            shutdown_timeout_ms=milliseconds("shutdown_timeout_ms", shutdown_timeout_ms),
            poll_interval_ms=optional(milliseconds, "poll_interval_ms", poll_interval_ms),
            flush_interval_ms=milliseconds("flush_interval_ms", flush_interval_ms),
            max_connections=connection_count(max_connections),
            log_errors=check_log_errors(log_errors),
            tenant_class=check_tenant_class(tenant_class),
            kinds=check_kinds(kinds),
            channels=check_channels(channels),
        )
        self.handlers, self.hooks = Handlers(), Hooks()
        self._schedules: dict[str, DeclaredSchedule] = {}
        self._session: Session | None = None

    # Declarations

    def handler(
        self,
        kind: str | Task[Any] | None = None,
        *,
        batch: int | None = None,
        retry_delays_ms: Sequence[Duration] = (),
        retry_jitter: float = 0.1,
        max_attempts: int | None = None,
        timeout_ms: Duration | None = None,
        max_result_bytes: int = DEFAULT_RESULT_BYTES,
    ) -> Callable[[Registered], Registered]:
        """Register a function for a kind of message: None for no kind, '*' for kinds without a handler of their own.

        What the function returns is stored as the result of the message, up to `max_result_bytes`. 0 stores nothing.
        With a task the payload has the type of the task.
        """
        task = kind if isinstance(kind, Task) else None
        if callable(kind):
            raise InvalidArgument(
                "write @worker.handler() with parentheses, or @worker.handler('encode') with a kind: "
                f"{getattr(kind, '__qualname__', kind)} is no kind"
            )

        def register(function: Registered) -> Registered:
            self.handlers.add(
                function,
                kind.name if isinstance(kind, Task) else kind,
                batch=batch,
                retry_delays_ms=retry_delays_ms,
                retry_jitter=retry_jitter,
                max_attempts=max_attempts,
                timeout_ms=timeout_ms,
                max_result_bytes=max_result_bytes,
                payload_type=task and task.type,
            )
            return function

        return register

    def task(self, name: str, **options: Any) -> Callable[[Function], Task[Any]]:
        """Declare a task and register its handler at once, with the options of `handler`."""
        if callable(name):
            raise InvalidArgument(
                f"write @worker.task('{getattr(name, '__name__', 'encode')}'): a task needs a name"
            )

        def declare(function: Function) -> Task[Any]:
            checked_name("name", name)
            self.handler(name, **options)(function)
            found = self.handlers.by_kind[name].payload_type
            return Task(name, bytes if found is None else found, function=function)

        return declare

    def schedule(
        self,
        name: str,
        *,
        channel: str,
        cron: str | None = None,
        every_ms: Duration | None = None,
        timezone: str = "UTC",
        content: Bytes = b"",
        kind: str | None = None,
        headers: Mapping[str, Any] | None = None,
        misfire: Misfire = "once",
    ) -> None:
        """Declare a schedule. The worker stores the schedule at its start, and every worker creates the messages."""
        more = {"content": content, "kind": kind, "headers": headers, "misfire": misfire}
        self._schedules[name] = declare_schedule(
            name, channel=channel, cron=cron, every_ms=every_ms, timezone=timezone, **more
        )

    def before(self, hook: Hook) -> Hook:
        """Call a function with the context before each handler."""
        self.hooks.before.append(check_hook("before", hook))
        return hook

    def after(self, hook: Hook) -> Hook:
        """Call a function with the context and the answer after each message is settled."""
        self.hooks.after.append(check_hook("after", hook))
        return hook

    def error(self, hook: Hook) -> Hook:
        """Call a function with the context and the exception after a handler has raised."""
        self.hooks.error.append(check_hook("error", hook))
        return hook

    def middleware(self, function: Hook) -> Hook:
        """Wrap every handler: `async def around(context, call_next)` runs the handler with `await call_next()`."""
        if not inspect.iscoroutinefunction(function):
            raise InvalidArgument(
                "write @worker.middleware above an async function, such as async def around(context, call_next), "
                f"not {describe_value(function)}"
            )
        if len(inspect.signature(function).parameters) != 2:
            raise InvalidArgument(
                f"middleware takes the context and call_next: "
                f"write async def {function.__name__}(context, call_next)"
            )
        self.hooks.middleware.append(function)
        return function

    @property
    def kinds(self) -> tuple[str | None, ...]:
        """The kinds that have a handler."""
        return self.handlers.kinds

    @property
    def schedules(self) -> tuple[DeclaredSchedule, ...]:
        """The declared schedules."""
        return tuple(self._schedules.values())

    # The run

    def run(
        self,
        dsn: str | None = None,
        *,
        concurrency: int | None = None,
        processes: int | None = None,
        shutdown_timeout_ms: Duration | None = None,
        kinds: Iterable[str | None] | None = None,
        channels: Iterable[str] | None = None,
        metrics: str | int | None = None,
    ) -> None:
        """Work until SIGTERM or SIGINT, and return when every message is settled or given back.

        A worker that starts with SIGINT ignored, as under `nohup worker &`, obeys SIGTERM only.
        The DSN is this argument, else the worker's, else LONNYMQ_DSN.
        """
        self._require_handlers()
        count = self.processes if processes is None else check_count("processes", processes)
        if metrics is not None:
            self.metrics = checked_address(metrics)
        with self._server(dsn) as found:
            settings = self._settings(found, concurrency, shutdown_timeout_ms, kinds, channels)
            if count == 1:
                return run_event_loop(self._serve(settings))
            self._require_installed(settings)
            supervisor = Supervisor(
                count,
                self._child(settings),
                shutdown_timeout_ms=settings.shutdown_timeout_ms,
            )
            if supervisor.run():
                raise SystemExit(1)
        return None

    async def run_async(
        self,
        dsn: str | None = None,
        *,
        concurrency: int | None = None,
        shutdown_timeout_ms: Duration | None = None,
        kinds: Iterable[str | None] | None = None,
        channels: Iterable[str] | None = None,
    ) -> None:
        """Work inside a running event loop, without signal handlers, until `stop` or a cancellation."""
        self._require_handlers()
        with self._server(dsn) as found:
            settings = self._settings(found, concurrency, shutdown_timeout_ms, kinds, channels)
            await self._work(self._create_session(settings))

    def drain(self, queue: Queue | AsyncQueue | str | None = None) -> dict[str, int]:
        """Handle the messages that are due until none is left, for tests. Return the number of each answer.

        The queue is this argument, a queue or a DSN, else that of the worker. Messages that handlers create, retries
        that are due and runs of declared schedules that are due are handled too.
        """
        if asyncio._get_running_loop() is not None:
            raise InvalidArgument("an event loop runs here: write await worker.drain_async(queue)")
        found: list[dict[str, int]] = []

        async def main() -> None:
            found.append(await self.drain_async(queue))

        run_event_loop(main())
        return found[0]

    async def drain_async(self, queue: Queue | AsyncQueue | str | None = None) -> dict[str, int]:
        """Do the same as `drain` inside a running event loop."""
        self._require_handlers()
        with self._server(dsn_of(queue)) as found:
            settings = self._settings(found, None, None)
            if isinstance(queue, Queue | AsyncQueue):
                settings = replace(settings, schema=queue.schema)
            try:
                return await self._create_session(settings).run_due()
            finally:
                self._session = None

    def stop(self) -> None:
        """Stop like SIGTERM. A second call gives all messages back at once. Call this in the worker's event loop."""
        if self._session is not None:
            self._session.stop()

    def _require_handlers(self) -> None:
        if not len(self.handlers):
            raise InvalidArgument(
                "the worker has no handlers: register a function with @worker.handler"
            )

    @contextmanager
    def _server(self, dsn: str | None) -> Iterator[str]:
        """Yield the DSN, of an embedded server if there is no other and the program asks for one."""
        named = dsn or self.dsn or os.environ.get(DSN_VARIABLE)
        if named:
            yield named
            return
        if not self.embedded:
            raise InvalidArgument(
                "the worker has no database: pass a DSN, set LONNYMQ_DSN, "
                "or pass embedded=True for a private server"
            )
        with start_embedded() as server:
            if isinstance(server, EmbeddedServer):
                Queue(server.dsn, schema=self.settings.schema).install()
            yield server.dsn

    def _settings(
        self,
        dsn: str,
        concurrency: int | None,
        shutdown_timeout_ms: Duration | None,
        kinds: Iterable[str | None] | None = None,
        channels: Iterable[str] | None = None,
    ) -> Settings:
        given: dict[str, Any] = {}
        if concurrency is not None:
            given["concurrency"] = check_count("concurrency", concurrency)
        if shutdown_timeout_ms is not None:
            given["shutdown_timeout_ms"] = milliseconds("shutdown_timeout_ms", shutdown_timeout_ms)
        if kinds is not None:
            given["kinds"] = check_kinds(kinds)
        if channels is not None:
            given["channels"] = check_channels(channels)
        name = unique_worker_name(self.name)
        return replace(
            self.settings,
            dsn=complete_dsn(dsn, application_name=APPLICATION_NAME),
            name=name,
            **given,
        )

    def _create_session(self, settings: Settings) -> Session:
        self._session = Session(
            settings, handlers=self.handlers, hooks=self.hooks, schedules=self.schedules
        )
        return self._session

    async def _serve(self, settings: Settings, lifeline: int | None = None) -> None:
        """Run a session until a signal or the end of the supervisor."""
        session = self._create_session(settings)
        loop = asyncio.get_running_loop()
        with suppress(ValueError):  # threads get no signals
            for each in stop_signals():
                loop.add_signal_handler(each, session.stop)
        if lifeline is not None:
            loop.add_reader(lifeline, self._stop_orphan, lifeline)
        await self._work(session, tries=1 if lifeline is None else MAX_PORTS)

    async def _work(self, session: Session, *, tries: int = 1) -> None:
        try:
            if self.metrics is None:
                await session.run()
                return
            from lonnymq.worker.metrics import serve_metrics  # prometheus-client takes a while

            with serve_metrics(session, self.metrics, tries=tries):
                await session.run()
        finally:
            self._session = None

    def _stop_orphan(self, lifeline: int) -> None:
        """Stop because the supervisor is gone."""
        asyncio.get_running_loop().remove_reader(lifeline)
        self.stop()

    def _child(self, settings: Settings) -> Callable[[int], None]:
        def work(lifeline: int) -> None:
            own = replace(settings, name=unique_worker_name(self.name))
            run_event_loop(self._serve(own, lifeline))

        return work

    def _require_installed(self, settings: Settings) -> None:
        """Raise NotInstalled before any process starts. An unreachable database is no error here."""
        with (
            suppress(psycopg.OperationalError),
            Queue(settings.dsn, schema=settings.schema) as queue,
        ):
            queue.worker_list(limit=1)


def dsn_of(queue: object) -> str | None:
    """Return the DSN of a queue to drain. A pool or a connection has none."""
    if queue is None or isinstance(queue, str):
        return queue
    source = queue._source if isinstance(queue, Queue | AsyncQueue) else None
    if isinstance(source, DsnSource | AsyncDsnSource):
        return source.dsn
    raise InvalidArgument(
        f"drain takes a DSN or a queue that has a DSN, not {describe_value(source or queue)}. "
        "Handlers have connections of their own and see committed messages only"
    )


def check_hook(what: str, hook: Hook) -> Hook:
    """Raise if a hook is no function."""
    if not callable(hook):
        raise InvalidArgument(f"write @worker.{what} above a function, not {describe_value(hook)}")
    return hook


def checked_address(metrics: str | int | None) -> str | None:
    """Check the `metrics` option."""
    return None if metrics is None else ":".join(map(str, parse_address(metrics)))
