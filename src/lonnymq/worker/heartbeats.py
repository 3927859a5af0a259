"""What a worker repeats while it runs: lease heartbeats, the report that it is alive, and maintenance of the queue."""

from __future__ import annotations

import asyncio
import os
import random
import socket
import time
from math import inf
from typing import Any

import lonnymq
from lonnymq.backoff import Backoff
from lonnymq.client import calls
from lonnymq.worker.context import HandlerContext
from lonnymq.worker.database import Database
from lonnymq.worker.runner import Runner
from lonnymq.worker.settings import Settings

MAX_LEASES = 10_000  # in one statement
PRESENCE_SECONDS, MAINTENANCE_SECONDS, MAINTENANCE_TIMEOUT = 10.0, 10.0, 30.0
LATE_SECONDS = 0.1
MAX_KINDS_BYTES = 8192
MAINTENANCE_LIMIT = 1000
REPORTED_ANSWERS = ("completed", "deferred", "retrying", "dead", "lease_lost")


class LeaseHeartbeats:
    """Extends leases that are older than a third of their length, every third of that length."""

    def __init__(self, database: Database, runner: Runner, settings: Settings) -> None:
        self.database, self.runner, self.lease_ms = database, runner, settings.lease_ms
        self.interval, self.seconds = settings.lease_ms / 3000, settings.heartbeat_seconds

    async def run(self) -> None:
        """Extend leases until cancelled."""
        backoff = Backoff()
        due = time.monotonic() + self.interval
        while True:
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            try:
                await self.extend_leases()
            except Exception as error:
                self.database.log_error(error)
                await backoff.sleep()
            else:
                backoff.reset()
                due = time.monotonic() + self.interval

    async def extend_leases(self) -> None:
        """Extend the leases that are not fresh."""
        old = time.monotonic() - self.interval * 0.9
        contexts = [each for each in self.runner.leases if each.leased_at <= old]
        for at in range(0, len(contexts), MAX_LEASES):
            await self.extend(contexts[at : at + MAX_LEASES])

    async def extend(self, contexts: list[HandlerContext]) -> None:
        """Extend leases in one statement."""
        said = [context.new_progress for context in contexts]
        has_progress = any(said)
        call = calls.message_heartbeat_many(
            self.database.schema,
            [each.message for each in contexts],
            lease_ms=self.lease_ms,
            progress=[each and each[0] for each in said] if has_progress else None,
            notes=[each and each[1] for each in said] if has_progress else None,
        )
        expires_at = time.monotonic() + self.lease_ms / 1000
        beats = await self.database.run(call, seconds=self.seconds)
        for context, beat, stored in zip(contexts, beats, said, strict=True):
            if beat.lease_until is not None:
                if context.new_progress is stored:
                    context.new_progress = None
                context.lease_until = beat.lease_until
                context.expires_at = max(context.expires_at, expires_at)
            elif beat.answer in ("lease_lost", "not_found"):
                self.runner.lose(context)

    async def end_expired(self) -> None:
        """Give up leases that nobody could extend, at the time when another worker may get the message."""
        planned = time.monotonic()
        while True:
            now = time.monotonic()
            expired = [each for each in self.runner.leases if each.expires_at <= now]
            if expired and now - planned > LATE_SECONDS:
                await self.extend_late(expired)
            for context in expired:
                if context.expires_at <= now:
                    self.runner.expire(context)
            ends = (each.expires_at for each in self.runner.leases)
            pause = min((end for end in ends if end > now), default=inf) - time.monotonic()
            pause = max(0.0, min(pause, self.interval))
            planned = time.monotonic() + pause
            await asyncio.sleep(pause)

    async def extend_late(self, contexts: list[HandlerContext]) -> None:
        """Ask the database for leases that ended while this process or its event loop stood still."""
        try:
            await self.extend(contexts)
        except Exception as error:
            self.database.log_error(error)


class Presence:
    """Reports every 10 seconds that the worker is alive."""

    def __init__(self, database: Database, runner: Runner, settings: Settings) -> None:
        self.database, self.runner, self.settings = database, runner, settings
        self.is_stopping = False

    async def run(self) -> None:
        """Report until cancelled."""
        while True:
            await self.report()
            await asyncio.sleep(PRESENCE_SECONDS)

    async def report(self) -> None:
        """Report once that the worker is alive."""
        call = calls.worker_seen(
            self.database.schema,
            self.settings.name,
            concurrency=self.settings.concurrency,
            running=len(self.runner.leases),
            stopping=self.is_stopping,
            about=self.describe(),
            interval_ms=int(PRESENCE_SECONDS * 1000),
            kinds=self.runner.handlers.served(self.settings.kinds),
        )
        await self.database.ignore_errors(self.database.run(call))

    async def remove(self) -> None:
        """Report that the worker has ended."""
        call = calls.worker_gone(self.database.schema, self.settings.name)
        await self.database.ignore_errors(self.database.run(call))

    def describe(self) -> dict[str, Any]:
        """Describe this worker for `worker_list`."""
        counts = self.runner.settler.reporter.counts
        return {
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "version": lonnymq.__version__,
            "kinds": list_kinds(self.runner.handlers.kinds),
            **{answer: counts.get(answer, 0) for answer in REPORTED_ANSWERS},
        }


async def maintain_forever(database: Database) -> None:
    """Run the maintenance of the queue about every 10 seconds until cancelled."""
    while True:
        await asyncio.sleep(MAINTENANCE_SECONDS * random.uniform(0.7, 1.3))  # noqa: S311 - spreads load
        await database.ignore_errors(maintain(database))


async def maintain(database: Database) -> None:
    """Run maintenance until fewer leases than a full batch had run out: thousands may end together."""
    call = calls.queue_maintain(database.schema, limit=MAINTENANCE_LIMIT)
    while (
        result := await database.run(call, seconds=MAINTENANCE_TIMEOUT)
    ).expired + result.died >= MAINTENANCE_LIMIT:
        pass


def list_kinds(kinds: tuple[str | None, ...]) -> list[str]:
    """List as many kinds as fit."""
    names, room = [], MAX_KINDS_BYTES
    for kind in kinds:
        room -= 6 * len(kind or "") + 4  # JSON may need six bytes for a letter
        if kind is not None and room > 0:
            names.append(kind)
    return names
