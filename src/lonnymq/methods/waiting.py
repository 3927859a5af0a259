"""What can be done with messages that wait: looked at, explained, cancelled, purged."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lonnymq import calls
from lonnymq.methods.base import AsyncBase, Base
from lonnymq.results import CancelAnswer, Cancelled, Explanation, PeekedMessage


class WaitingMethods(Base):
    """What can be done with messages that wait: looked at, explained, cancelled, purged."""

    def cancel(self, message_id: int, *, using: Any = None) -> CancelAnswer:
        """Delete a message that nobody is working on."""
        return self._run(calls.message_cancel(self.schema, message_id), using)

    def cancel_many(self, message_ids: Iterable[int], *, using: Any = None) -> list[Cancelled]:
        """Delete many messages that nobody is working on."""
        return self._run(calls.message_cancel_many(self.schema, message_ids), using)

    def purge(self, channel: str, *, limit: int = 10_000) -> int:
        """Delete a channel's waiting messages, at most `limit`, and say how many."""
        return self._run(calls.message_purge(self.schema, channel, limit=limit))

    def peek(self, channel: str, *, limit: int = 10) -> list[PeekedMessage]:
        """Look at a channel's first messages and take none."""
        return self._run(calls.message_peek(self.schema, channel, limit=limit))

    def explain(self, message_id: int) -> Explanation:
        """Say why a message is not running."""
        return self._run(calls.message_explain(self.schema, message_id))


class AsyncWaitingMethods(AsyncBase):
    """What can be done with messages that wait: looked at, explained, cancelled, purged."""

    async def cancel(self, message_id: int, *, using: Any = None) -> CancelAnswer:
        """Delete a message that nobody is working on."""
        return await self._run(calls.message_cancel(self.schema, message_id), using)

    async def cancel_many(
        self, message_ids: Iterable[int], *, using: Any = None
    ) -> list[Cancelled]:
        """Delete many messages that nobody is working on."""
        return await self._run(calls.message_cancel_many(self.schema, message_ids), using)

    async def purge(self, channel: str, *, limit: int = 10_000) -> int:
        """Delete a channel's waiting messages, at most `limit`, and say how many."""
        return await self._run(calls.message_purge(self.schema, channel, limit=limit))

    async def peek(self, channel: str, *, limit: int = 10) -> list[PeekedMessage]:
        """Look at a channel's first messages and take none."""
        return await self._run(calls.message_peek(self.schema, channel, limit=limit))

    async def explain(self, message_id: int) -> Explanation:
        """Say why a message is not running."""
        return await self._run(calls.message_explain(self.schema, message_id))
