"""What can be done with messages that are out of attempts."""

from __future__ import annotations

from collections.abc import Iterable

from lonnymq import calls
from lonnymq.methods.base import AsyncBase, Base
from lonnymq.results import DeadMessage, Redriven


class DeadMethods(Base):
    """What can be done with messages that are out of attempts."""

    def dead_list(
        self,
        channel: str | None = None,
        *,
        kind: str | None = None,
        after: int | None = None,
        limit: int = 100,
    ) -> list[DeadMessage]:
        """A page of dead messages, after an id."""
        return self._run(calls.dead_list(self.schema, channel, kind=kind, after=after, limit=limit))

    def dead_ids(
        self,
        channel: str | None = None,
        *,
        kind: str | None = None,
        after: int | None = None,
        limit: int = 1000,
    ) -> list[int]:
        """A page of the ids of dead messages, after an id."""
        return self._run(calls.dead_ids(self.schema, channel, kind=kind, after=after, limit=limit))

    def dead_redrive(
        self,
        message_ids: Iterable[int] | None = None,
        *,
        channel: str | None = None,
        kind: str | None = None,
        limit: int = 1000,
    ) -> list[Redriven]:
        """Let dead messages live again, at their place in time; channel '*' means all."""
        return self._run(
            calls.dead_redrive(self.schema, message_ids, channel=channel, kind=kind, limit=limit)
        )

    def dead_purge(
        self,
        message_ids: Iterable[int] | None = None,
        *,
        channel: str | None = None,
        kind: str | None = None,
        limit: int = 10_000,
    ) -> int:
        """Delete dead messages for good, and say how many; channel '*' means all."""
        return self._run(
            calls.dead_purge(self.schema, message_ids, channel=channel, kind=kind, limit=limit)
        )


class AsyncDeadMethods(AsyncBase):
    """What can be done with messages that are out of attempts."""

    async def dead_list(
        self,
        channel: str | None = None,
        *,
        kind: str | None = None,
        after: int | None = None,
        limit: int = 100,
    ) -> list[DeadMessage]:
        """A page of dead messages, after an id."""
        return await self._run(
            calls.dead_list(self.schema, channel, kind=kind, after=after, limit=limit)
        )

    async def dead_ids(
        self,
        channel: str | None = None,
        *,
        kind: str | None = None,
        after: int | None = None,
        limit: int = 1000,
    ) -> list[int]:
        """A page of the ids of dead messages, after an id."""
        return await self._run(
            calls.dead_ids(self.schema, channel, kind=kind, after=after, limit=limit)
        )

    async def dead_redrive(
        self,
        message_ids: Iterable[int] | None = None,
        *,
        channel: str | None = None,
        kind: str | None = None,
        limit: int = 1000,
    ) -> list[Redriven]:
        """Let dead messages live again, at their place in time; channel '*' means all."""
        return await self._run(
            calls.dead_redrive(self.schema, message_ids, channel=channel, kind=kind, limit=limit)
        )

    async def dead_purge(
        self,
        message_ids: Iterable[int] | None = None,
        *,
        channel: str | None = None,
        kind: str | None = None,
        limit: int = 10_000,
    ) -> int:
        """Delete dead messages for good, and say how many; channel '*' means all."""
        return await self._run(
            calls.dead_purge(self.schema, message_ids, channel=channel, kind=kind, limit=limit)
        )
