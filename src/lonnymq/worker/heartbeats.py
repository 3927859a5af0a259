"""Keeps leases: a heartbeat for all of them in one statement, and word to the handlers whose lease is lost."""

from __future__ import annotations

import asyncio
import os
import random
import socket
import time
from importlib.metadata import version
from typing import Any

from lonnymq import calls
from lonnymq.worker.context import Facts
from lonnymq.worker.database import Backoff, Link
from lonnymq.worker.runner import Jobs
from lonnymq.worker.settings import Settings

MOST_AT_ONCE = 10_000


class Keeper:
    """Extends all leases that are older than a third of their time, every third of it."""

    def __init__(self, link: Link, jobs: Jobs, settings: Settings) -> None:
        self.link, self.jobs, self.lease_ms = link, jobs, settings.lease_ms
        self.third = settings.lease_ms / 3000

    async def run(self) -> None:
        """Beat for ever."""
        backoff = Backoff()
        due = time.monotonic() + self.third
        while True:
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            try:
                await self.beat()
            except Exception as error:
                self.link.down(error)
                await backoff.pause()
            else:
                backoff.reset()
                due = time.monotonic() + self.third

    async def beat(self) -> None:
        """Extend the leases that are not fresh."""
        old = time.monotonic() - self.third * 0.9
        kept = [each for each in self.jobs.leases if each.taken <= old]
        for at in range(0, len(kept), MOST_AT_ONCE):
            await self.extend(kept[at : at + MOST_AT_ONCE])

    async def extend(self, kept: list[Facts]) -> None:
        """Extend these leases in one statement."""
        call = calls.message_heartbeat_many(
            self.link.schema, [each.message for each in kept], lease_ms=self.lease_ms
        )
        beats = await self.link.run(call)
        for context, beat in zip(kept, beats, strict=True):
            if beat.lease_until is not None:
                context.lease_until = beat.lease_until
            elif beat.answer in ("lease_lost", "not_found"):
                self.lose(context)

    def lose(self, context: Facts) -> None:
        """Give a lease up, unless its handler has ended: then the settlement under way finds out."""
        job = self.jobs.leases.get(context)
        if job is not None and not job.is_over and not context.committing:
            self.jobs.lose(context)


SEEN_SECONDS, SWEEP_SECONDS = 10.0, 10.0
MOST_KINDS_BYTES = 8192
SWEEP_LIMIT = 1000


class Housekeeper:
    """Says every ten seconds that the worker is there, and sweeps about as often."""

    def __init__(self, link: Link, jobs: Jobs, settings: Settings) -> None:
        self.link, self.jobs, self.settings = link, jobs, settings
        self.is_stopping = False

    async def be_seen(self) -> None:
        """Say for ever that the worker is there."""
        while True:
            await self.quietly(self.seen())
            await asyncio.sleep(SEEN_SECONDS)

    async def sweep(self) -> None:
        """Sweep for ever, at moments of its own."""
        while True:
            await asyncio.sleep(SWEEP_SECONDS * random.uniform(0.7, 1.3))  # noqa: S311 - spreads load
            await self.quietly(self.sweep_all())

    async def sweep_all(self) -> None:
        """Sweep until less than a full batch of leases had run out: thousands may end together."""
        call = calls.queue_sweep(self.link.schema, limit=SWEEP_LIMIT)
        while (swept := await self.link.run(call)).expired + swept.died >= SWEEP_LIMIT:
            pass

    async def seen(self) -> None:
        """Say once that the worker is there."""
        call = calls.worker_seen(
            self.link.schema,
            self.settings.name,
            concurrency=self.settings.concurrency,
            running=len(self.jobs.leases),
            stopping=self.is_stopping,
            about=self.about(),
            again_ms=int(SEEN_SECONDS * 1000),
        )
        await self.link.run(call)

    async def gone(self) -> None:
        """Say that the worker has ended."""
        await self.quietly(self.link.run(calls.worker_gone(self.link.schema, self.settings.name)))

    def about(self) -> dict[str, Any]:
        """What others may want to know of this worker."""
        return {
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "version": version("lonnymq"),
            "kinds": listed(self.jobs.handlers.kinds),
            **{word: self.jobs.counts.get(word, 0) for word in COUNTED},
        }

    async def quietly(self, doing: Any) -> None:
        """Do something that may as well fail: it is done again."""
        try:
            await doing
        except Exception as error:
            self.link.down(error)


def listed(kinds: tuple[str | None, ...]) -> list[str]:
    """The kinds, as many as there is room for."""
    names, room = [], MOST_KINDS_BYTES
    for kind in kinds:
        room -= 6 * len(kind or "") + 4  # what JSON may make of a letter
        if kind is not None and room > 0:
            names.append(kind)
    return names


COUNTED = ("completed", "deferred", "retrying", "dead", "lease_lost")
