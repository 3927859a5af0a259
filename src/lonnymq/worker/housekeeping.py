"""What a worker does for the queue beside its messages: it says that it is there, and sweeps."""

from __future__ import annotations

import asyncio
import os
import random
import socket
from importlib.metadata import version
from typing import Any

from lonnymq.client import calls
from lonnymq.worker.jobs import Jobs
from lonnymq.worker.link import Link
from lonnymq.worker.settings import Settings

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
