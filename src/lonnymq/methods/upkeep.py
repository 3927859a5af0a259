"""The queue as a whole: its clock, policy, figures, sweep, check and repair."""

from __future__ import annotations

from typing import Unpack

from lonnymq import calls
from lonnymq.calls import QueueOptions
from lonnymq.methods.base import AsyncBase, Base
from lonnymq.results import Installed, QueueSetAnswer, QueueStats, Repair, Swept, Violation


class UpkeepMethods(Base):
    """The queue as a whole: its clock, policy, figures, sweep, check and repair."""

    def installed(self) -> Installed:
        """Which version of the queue is in the schema."""
        return self._run(calls.queue_installed(self.schema))

    def epoch(self) -> int:
        """The queue's clock: epoch milliseconds of the database."""
        return self._run(calls.epoch(self.schema))

    def set(self, **options: Unpack[QueueOptions]) -> QueueSetAnswer:
        """Set the queue's policy and the defaults of new channels; what is not given stays."""
        return self._run(calls.queue_set(self.schema, options))

    def stats(self) -> QueueStats:
        """The queue's figures."""
        return self._run(calls.queue_stats(self.schema))

    def sweep(self, *, limit: int = 1000) -> Swept:
        """Expire leases, forget idle channels, drop old history; safe from anywhere, by many."""
        return self._run(calls.queue_sweep(self.schema, limit=limit))

    def check(self) -> list[Violation]:
        """Look for broken invariants; none means healthy."""
        return self._run(calls.queue_check(self.schema))

    def repair(self) -> list[Repair]:
        """Mend broken invariants, and say which."""
        return self._run(calls.queue_repair(self.schema))


class AsyncUpkeepMethods(AsyncBase):
    """The queue as a whole: its clock, policy, figures, sweep, check and repair."""

    async def installed(self) -> Installed:
        """Which version of the queue is in the schema."""
        return await self._run(calls.queue_installed(self.schema))

    async def epoch(self) -> int:
        """The queue's clock: epoch milliseconds of the database."""
        return await self._run(calls.epoch(self.schema))

    async def set(self, **options: Unpack[QueueOptions]) -> QueueSetAnswer:
        """Set the queue's policy and the defaults of new channels; what is not given stays."""
        return await self._run(calls.queue_set(self.schema, options))

    async def stats(self) -> QueueStats:
        """The queue's figures."""
        return await self._run(calls.queue_stats(self.schema))

    async def sweep(self, *, limit: int = 1000) -> Swept:
        """Expire leases, forget idle channels, drop old history; safe from anywhere, by many."""
        return await self._run(calls.queue_sweep(self.schema, limit=limit))

    async def check(self) -> list[Violation]:
        """Look for broken invariants; none means healthy."""
        return await self._run(calls.queue_check(self.schema))

    async def repair(self) -> list[Repair]:
        """Mend broken invariants, and say which."""
        return await self._run(calls.queue_repair(self.schema))
