"""Workers that say that they are there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lonnymq import calls
from lonnymq.calls import Duration
from lonnymq.methods.base import AsyncBase, Base
from lonnymq.results import WorkerGoneAnswer, WorkerSeen, WorkerSeenAnswer


class WorkerMethods(Base):
    """Workers that say that they are there."""

    def worker_seen(
        self,
        name: str,
        *,
        concurrency: int,
        running: int = 0,
        stopping: bool = False,
        about: Mapping[str, Any] | None = None,
        again_ms: Duration = 10_000,
    ) -> WorkerSeenAnswer:
        """Say that a worker is there, to be said again within `again_ms`."""
        call = calls.worker_seen(
            self.schema,
            name,
            concurrency=concurrency,
            running=running,
            stopping=stopping,
            about=about,
            again_ms=again_ms,
        )
        return self._run(call)

    def worker_gone(self, name: str) -> WorkerGoneAnswer:
        """Say that a worker has ended."""
        return self._run(calls.worker_gone(self.schema, name))

    def worker_list(self, *, after: str | None = None, limit: int = 100) -> list[WorkerSeen]:
        """A page of workers that said that they are there, after a name."""
        return self._run(calls.worker_list(self.schema, after=after, limit=limit))


class AsyncWorkerMethods(AsyncBase):
    """Workers that say that they are there."""

    async def worker_seen(
        self,
        name: str,
        *,
        concurrency: int,
        running: int = 0,
        stopping: bool = False,
        about: Mapping[str, Any] | None = None,
        again_ms: Duration = 10_000,
    ) -> WorkerSeenAnswer:
        """Say that a worker is there, to be said again within `again_ms`."""
        call = calls.worker_seen(
            self.schema,
            name,
            concurrency=concurrency,
            running=running,
            stopping=stopping,
            about=about,
            again_ms=again_ms,
        )
        return await self._run(call)

    async def worker_gone(self, name: str) -> WorkerGoneAnswer:
        """Say that a worker has ended."""
        return await self._run(calls.worker_gone(self.schema, name))

    async def worker_list(self, *, after: str | None = None, limit: int = 100) -> list[WorkerSeen]:
        """A page of workers that said that they are there, after a name."""
        return await self._run(calls.worker_list(self.schema, after=after, limit=limit))
