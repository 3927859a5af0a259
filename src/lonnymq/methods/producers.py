"""Roles that may use some channels only."""

from __future__ import annotations

from collections.abc import Iterable

from lonnymq import calls
from lonnymq.methods.base import AsyncBase, Base
from lonnymq.results import ConfineAnswer, Confined, FreeAnswer


class ProducerMethods(Base):
    """Roles that may use some channels only."""

    def producer_confine(
        self, role: str, *, channels: Iterable[str] = (), prefixes: Iterable[str] = ()
    ) -> ConfineAnswer:
        """Confine a role and its members to these channels, and to those whose names begin so."""
        call = calls.producer_confine(self.schema, role, channels=channels, prefixes=prefixes)
        return self._run(call)

    def channel_permitted(self, channel: str) -> bool:
        """Whether who is connected may use a channel: True unless it is confined to others."""
        return self._run(calls.channel_permitted(self.schema, channel))

    def producer_free(self, role: str) -> FreeAnswer:
        """Let a role use every channel again."""
        return self._run(calls.producer_free(self.schema, role))

    def producer_list(self) -> list[Confined]:
        """The roles that are confined to some channels."""
        return self._run(calls.producer_list(self.schema))


class AsyncProducerMethods(AsyncBase):
    """Roles that may use some channels only."""

    async def producer_confine(
        self, role: str, *, channels: Iterable[str] = (), prefixes: Iterable[str] = ()
    ) -> ConfineAnswer:
        """Confine a role and its members to these channels, and to those whose names begin so."""
        call = calls.producer_confine(self.schema, role, channels=channels, prefixes=prefixes)
        return await self._run(call)

    async def channel_permitted(self, channel: str) -> bool:
        """Whether who is connected may use a channel: True unless it is confined to others."""
        return await self._run(calls.channel_permitted(self.schema, channel))

    async def producer_free(self, role: str) -> FreeAnswer:
        """Let a role use every channel again."""
        return await self._run(calls.producer_free(self.schema, role))

    async def producer_list(self) -> list[Confined]:
        """The roles that are confined to some channels."""
        return await self._run(calls.producer_list(self.schema))
