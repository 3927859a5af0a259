"""The state that all routes of one app share: queues, authentication, the cache of answers, the streams of events."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Hashable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.requests import Request

from lonnymq.dashboard.access import EVERYTHING, Access, AccessRules, Role
from lonnymq.dashboard.errors import ApiError, not_found
from lonnymq.dashboard.queues import MonitoredQueue

if TYPE_CHECKING:
    from lonnymq.dashboard.security import Authenticator, User
    from lonnymq.doctor import Report

CACHE_SECONDS = 1.0
DOCTOR_SECONDS = 60.0
MAX_CACHED = 500
EVENT_SECONDS = 2.0
KEEP_ALIVE_SECONDS = 15.0
KEEP_ALIVE = b": hello\n\n"

Read = Callable[[], Awaitable[Any]]


class ResponseCache:
    """Answers of the last second by their question: many open pages cost the database one set of queries."""

    def __init__(self, seconds: float = CACHE_SECONDS) -> None:
        self.seconds = seconds
        self.answers: dict[Hashable, tuple[float, asyncio.Task[Any]]] = {}

    async def get(self, key: Hashable, read: Read) -> Any:
        """The cached answer, or a new one. Everybody who asks during a read waits for the same answer."""
        started, task = self.answers.get(key, (0.0, None))
        is_fresh = task is not None and (
            not task.done() or time.monotonic() < started + self.seconds
        )
        if task is None or not is_fresh or has_failed(task):
            task = asyncio.ensure_future(read())
            self.store(key, task)
        # One reader that leaves does not take the answer from the others.
        return await asyncio.shield(task)

    def store(self, key: Hashable, task: asyncio.Task[Any]) -> None:
        """Store an answer that is being read, and drop the oldest ones."""
        self.answers.pop(key, None)
        while len(self.answers) >= MAX_CACHED:
            del self.answers[next(iter(self.answers))]
        self.answers[key] = (time.monotonic(), task)
        task.add_done_callback(has_failed)  # marks the exception as seen: nobody may be waiting


def has_failed(task: asyncio.Task[Any]) -> bool:
    """Whether an answer could not be read."""
    return task.done() and (task.cancelled() or task.exception() is not None)


class EventStream:
    """Sends the overview of one queue to all open pages every two seconds, and reads nothing without listeners."""

    def __init__(self, read: Read, *, every: float = EVENT_SECONDS) -> None:
        self.read, self.every = read, every
        self.listeners: set[asyncio.Queue[bytes]] = set()
        self.task: asyncio.Task[None] | None = None

    async def events(self) -> AsyncGenerator[bytes]:
        """The events from now on, until the listener leaves."""
        box: asyncio.Queue[bytes] = asyncio.Queue(maxsize=2)
        self.listeners.add(box)
        try:
            yield KEEP_ALIVE
            yield await self.read_event()
            if self.task is None or self.task.done():
                self.task = asyncio.create_task(self.broadcast())
            while True:
                try:
                    yield await asyncio.wait_for(box.get(), KEEP_ALIVE_SECONDS)
                except TimeoutError:
                    yield KEEP_ALIVE
        finally:
            self.listeners.discard(box)

    async def broadcast(self) -> None:
        """Read and send events while anybody listens."""
        while self.listeners:
            await asyncio.sleep(self.every)
            if not self.listeners:
                return
            event = await self.read_event()
            for box in self.listeners:
                if box.full():  # a slow page skips old events
                    box.get_nowait()
                box.put_nowait(event)

    async def read_event(self) -> bytes:
        """The overview as an event, or the error that prevents reading the overview."""
        try:
            return format_event("overview", await self.read())
        except ApiError as error:
            return format_event("trouble", error.document)
        except Exception:
            return format_event("trouble", ApiError("internal", "The dashboard failed.").document)


def format_event(name: str, document: Any) -> bytes:
    """One event in the text/event-stream format."""
    return f"event: {name}\ndata: {json.dumps(document)}\n\n".encode()


@dataclass(slots=True)
class AppState:
    """The state of one app."""

    queues: Mapping[str, MonitoredQueue]
    authenticator: Authenticator
    rules: AccessRules | None = None
    actions: bool = False
    action_roles: Mapping[str, Role] = field(
        default_factory=dict
    )  # of the actions that are enabled
    report: Path | None = None
    cache: ResponseCache = field(default_factory=ResponseCache)
    doctor_cache: ResponseCache = field(default_factory=lambda: ResponseCache(DOCTOR_SECONDS))
    reports: dict[str, Report] = field(default_factory=dict)  # the last of the doctor, by queue
    streams: dict[str, EventStream] = field(default_factory=dict)

    def find_access(self, user: User, queue: str) -> Access:
        """What a user may do in a queue."""
        if self.rules is not None:
            return self.rules.find_access(user.name, user.groups, queue)
        return EVERYTHING[Role.ADMINISTER if self.actions else Role.VIEW]

    def find_roles(self, user: User) -> dict[str, Access]:
        """What a user may do, by queue, without queues that the user may not see."""
        found = {key: self.find_access(user, key) for key in self.queues}
        return {key: access for key, access in found.items() if access.role is not None}

    def get_stream(
        self, queue: MonitoredQueue, read: Callable[[MonitoredQueue], Awaitable[Any]]
    ) -> EventStream:
        """The stream of a queue, which reads through the cache as requests do."""
        if queue.key not in self.streams:
            self.streams[queue.key] = EventStream(
                lambda: self.cache.get((queue.key, "overview"), lambda: read(queue))
            )
        return self.streams[queue.key]


def get_state(request: Request) -> AppState:
    """The state of the app that a request came to."""
    state: AppState = request.app.state.dashboard
    return state


def get_queue(request: Request) -> MonitoredQueue:
    """The queue that the path of a request names."""
    key = request.path_params["queue"]
    try:
        return get_state(request).queues[key]
    except KeyError:
        raise not_found(
            "This queue does not exist.", "The keys of all queues are in api/session."
        ) from None
