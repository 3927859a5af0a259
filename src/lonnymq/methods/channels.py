"""What can be said of channels: their policies, pauses, figures."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Unpack

from lonnymq import calls
from lonnymq.calls import ChannelOptions
from lonnymq.methods.base import AsyncBase, Base
from lonnymq.results import (
    ChannelActivity,
    ChannelPolicy,
    ChannelSetAnswer,
    ChannelStats,
    PauseAnswer,
    ReleaseAnswer,
    ResumeAnswer,
)


class ChannelMethods(Base):
    """What can be said of channels: their policies, pauses, figures."""

    def channel_set(self, channel: str, **options: Unpack[ChannelOptions]) -> ChannelSetAnswer:
        """Set a channel's policy; what is not given stays."""
        return self._run(calls.channel_set(self.schema, channel, options))

    def channel_pause(self, channel: str) -> PauseAnswer:
        """Stop handing out a channel's messages."""
        return self._run(calls.channel_pause(self.schema, channel))

    def channel_resume(self, channel: str) -> ResumeAnswer:
        """Hand out a paused channel's messages again."""
        return self._run(calls.channel_resume(self.schema, channel))

    def channel_release(self, channel: str) -> ReleaseAnswer:
        """Retire a channel: no new messages, gone when drained."""
        return self._run(calls.channel_release(self.schema, channel))

    def channel_stats(
        self, channel: str | None = None, *, after: str | None = None, limit: int = 100
    ) -> list[ChannelStats]:
        """One channel's figures, or those of all, a page at a time after a name."""
        return self._run(calls.channel_stats(self.schema, channel, after=after, limit=limit))

    def channel_policy_list(
        self, *, after: str | None = None, limit: int = 1000
    ) -> list[ChannelPolicy]:
        """The defaults, then the policies of all channels, a page at a time after a name."""
        return self._run(calls.channel_policy_list(self.schema, after=after, limit=limit))

    def channel_active(
        self, channels: Iterable[str] | None = None, *, limit: int = 100, count: int = 1000
    ) -> list[ChannelActivity]:
        """The channels in which something goes on, up to `limit` of each sort, or those that are named."""
        return self._run(calls.channel_active(self.schema, channels, limit=limit, count=count))


class AsyncChannelMethods(AsyncBase):
    """What can be said of channels: their policies, pauses, figures."""

    async def channel_set(
        self, channel: str, **options: Unpack[ChannelOptions]
    ) -> ChannelSetAnswer:
        """Set a channel's policy; what is not given stays."""
        return await self._run(calls.channel_set(self.schema, channel, options))

    async def channel_pause(self, channel: str) -> PauseAnswer:
        """Stop handing out a channel's messages."""
        return await self._run(calls.channel_pause(self.schema, channel))

    async def channel_resume(self, channel: str) -> ResumeAnswer:
        """Hand out a paused channel's messages again."""
        return await self._run(calls.channel_resume(self.schema, channel))

    async def channel_release(self, channel: str) -> ReleaseAnswer:
        """Retire a channel: no new messages, gone when drained."""
        return await self._run(calls.channel_release(self.schema, channel))

    async def channel_stats(
        self, channel: str | None = None, *, after: str | None = None, limit: int = 100
    ) -> list[ChannelStats]:
        """One channel's figures, or those of all, a page at a time after a name."""
        return await self._run(calls.channel_stats(self.schema, channel, after=after, limit=limit))

    async def channel_policy_list(
        self, *, after: str | None = None, limit: int = 1000
    ) -> list[ChannelPolicy]:
        """The defaults, then the policies of all channels, a page at a time after a name."""
        return await self._run(calls.channel_policy_list(self.schema, after=after, limit=limit))

    async def channel_active(
        self, channels: Iterable[str] | None = None, *, limit: int = 100, count: int = 1000
    ) -> list[ChannelActivity]:
        """The channels in which something goes on, up to `limit` of each sort, or those that are named."""
        return await self._run(
            calls.channel_active(self.schema, channels, limit=limit, count=count)
        )
