"""How an AsyncQueue waits for the end of messages: one of those who wait listens or polls for all of them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from time import monotonic
from typing import Any

from psycopg import AsyncConnection, Notify, sql

from lonnymq import results
from lonnymq.client import calls
from lonnymq.client._async.connections import AsyncSource, run, run_on
from lonnymq.client._async.pool import AsyncDsnSource
from lonnymq.client.arguments import Duration, milliseconds, optional
from lonnymq.client.notifications import read_notifications_async, wait_event_async
from lonnymq.errors import WaitTimeout, translated

FIRST_POLL_SECONDS, LAST_POLL_SECONDS = 0.05, 5.0
LAST_POLL_SECONDS_WITHOUT_LISTEN = 0.5
MAX_IDS = 10_000  # of one call


class AsyncWait:
    """One call of `wait` or `wait_many`: which messages have not ended yet, and what became of the others."""

    def __init__(self, ids: Sequence[int], timeout: float | None) -> None:
        self.ids, self.left = list(ids), set(ids)
        self.found: dict[int, results.MessageStatus] = {}
        self.deadline = None if timeout is None else monotonic() + timeout
        self.timeout = timeout
        self.event = asyncio.Event()  # it has ended, or its turn to listen has come

    def seconds_left(self, longest: float) -> float:
        """The seconds until the time is up, or `longest` if that is earlier."""
        return longest if self.deadline is None else min(longest, self.deadline - monotonic())

    def is_over(self) -> bool:
        """Whether all messages have ended. Raises WaitTimeout if the time is up."""
        if not self.left:
            return True
        if self.deadline is not None and monotonic() >= self.deadline:
            status = self.found.get(min(self.left))
            state = None if status is None else status.state
            raise WaitTimeout(sorted(self.left), self.timeout, state)
        return False

    def deliver(self, statuses: Sequence[results.MessageStatus]) -> None:
        """Take in what became of messages."""
        for status in statuses:
            if status.id in self.left:
                self.found[status.id] = status
                if status.has_ended:
                    self.left.discard(status.id)
        if not self.left:
            self.event.set()


class AsyncWaits:
    """All waits of a queue. The first that waits is the leader, who listens or polls for all, until its own end."""

    def __init__(self, source: AsyncSource, schema: str) -> None:
        self.source, self.schema = source, schema
        self.guard = threading.Lock()
        self.open: list[AsyncWait] = []
        self.joined = 0
        self.leader: AsyncWait | None = None
        self.is_pooled = not isinstance(source, AsyncDsnSource) or source.slots.count == 1

    async def wait(
        self, ids: Sequence[int], timeout_ms: Duration | None
    ) -> list[results.MessageStatus]:
        """What became of the messages, when all of them have ended."""
        limit = optional(milliseconds, "timeout_ms", timeout_ms)
        wait = AsyncWait(ids, None if limit is None else limit / 1000)
        with self.guard:
            self.open.append(wait)
            self.joined += 1
        try:
            # Who comes later asks by itself once: the leader listens already.
            if self.lead(wait):
                await self.serve(wait)
            else:
                await self.check(None, set(wait.left))
            while not wait.is_over():
                if self.lead(wait):
                    await self.serve(wait)
                else:
                    await wait_event_async(wait.event, wait.seconds_left(threading.TIMEOUT_MAX))
        finally:
            self.leave(wait)
        return [wait.found[each] for each in wait.ids]

    def lead(self, wait: AsyncWait) -> bool:
        """Whether the wait is the leader, which it becomes if there is none."""
        with self.guard:
            self.leader = self.leader or wait
            return self.leader is wait

    def leave(self, wait: AsyncWait) -> None:
        """End a wait; the leader's place goes to another one."""
        with self.guard:
            self.open.remove(wait)
            if self.leader is wait:
                self.leader = self.open[0] if self.open else None
                if self.leader is not None:
                    self.leader.event.set()

    async def serve(self, wait: AsyncWait) -> None:
        """Listen for all until the leader's own wait is over; behind a pooler, poll."""
        if not self.is_pooled:
            async with self.source.connection() as connection:
                self.is_pooled = connection.prepare_threshold is None
                if not self.is_pooled:
                    with translated():
                        return await self.listen(connection, wait)
        pause = FIRST_POLL_SECONDS
        while not await self.check(None, None) and not wait.is_over():
            await asyncio.sleep(max(0.0, wait.seconds_left(pause)))
            pause = min(pause * 1.5, LAST_POLL_SECONDS_WITHOUT_LISTEN)
        return None

    async def listen(self, connection: AsyncConnection[Any], wait: AsyncWait) -> None:
        """Ask for those messages that a notification names, and now and then for all."""
        async with self.listening(connection) as payloads:
            pause, known = FIRST_POLL_SECONDS, 0
            await self.check(connection, None)
            next_check = monotonic() + pause
            while not wait.is_over():
                if not payloads:
                    left = wait.seconds_left(next_check - monotonic())
                    payloads += await read_notifications_async(connection, max(0.0, left))
                named = {int(each) for payload in payloads for each in payload.split(",")}
                payloads.clear()
                if named:
                    await self.check(connection, named)
                if monotonic() >= next_check:
                    await self.check(connection, None)
                    # A message may have been locked when it was to be watched: a new wait is checked soon.
                    pause = FIRST_POLL_SECONDS if self.joined > known else pause * 2
                    known = self.joined
                    next_check = monotonic() + min(pause, LAST_POLL_SECONDS)

    @asynccontextmanager
    async def listening(self, connection: AsyncConnection[Any]) -> AsyncIterator[list[str]]:
        """Listen meanwhile. The payloads that arrive beside an answer are added to the list."""
        payloads: list[str] = []
        channel = sql.Identifier(f"ended_{self.schema}")

        def add(notification: Notify) -> None:
            payloads.append(notification.payload)

        connection.add_notify_handler(add)
        await connection.execute(sql.SQL("listen {}").format(channel))
        try:
            yield payloads
        finally:
            if not connection.closed:
                await connection.execute(sql.SQL("unlisten {}").format(channel))
                connection.remove_notify_handler(add)

    async def check(self, connection: AsyncConnection[Any] | None, named: set[int] | None) -> bool:
        """Ask for the messages of all waits, or for those that are named. Answers whether nobody waits any more."""
        with self.guard:
            waits = list(self.open)
        ids = sorted(set[int]().union(*[wait.left for wait in waits]))
        if named is not None:
            ids = [each for each in ids if each in named]
        for start in range(0, len(ids), MAX_IDS):
            statuses = await self.watch(ids[start : start + MAX_IDS], connection)
            for wait in waits:
                wait.deliver(statuses)
        return not any(wait.left for wait in waits)

    async def watch(
        self, ids: Sequence[int], connection: AsyncConnection[Any] | None = None
    ) -> list[results.MessageStatus]:
        """Ask what became of messages, and to be notified of their end."""
        call = calls.message_watch(self.schema, ids)
        if connection is None:
            return await run(self.source, call)
        return await run_on(connection, call, prepare=self.source.prepare)
