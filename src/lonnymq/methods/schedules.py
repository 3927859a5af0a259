"""Messages that are to be created again and again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from lonnymq import calls
from lonnymq.calls import Bytes, Duration, Moment
from lonnymq.methods.base import AsyncBase, Base
from lonnymq.results import (
    MissedTicks,
    PauseAnswer,
    ResumeAnswer,
    Schedule,
    ScheduleDeleteAnswer,
    ScheduleRan,
    ScheduleSetAnswer,
    Ticked,
)


class ScheduleMethods(Base):
    """Messages that are to be created again and again."""

    def schedule_set(
        self,
        name: str,
        *,
        channel: str,
        cron: str | None = None,
        every_ms: Duration | None = None,
        zone: str = "UTC",
        content: Bytes = b"",
        kind: str | None = None,
        headers: Mapping[str, Any] | None = None,
        missed: MissedTicks = "once",
    ) -> ScheduleSetAnswer:
        """Say what a schedule creates and when, by a cron line or an interval; workers do it."""
        call = calls.schedule_set(
            self.schema,
            name,
            channel=channel,
            cron=cron,
            every_ms=every_ms,
            zone=zone,
            content=content,
            kind=kind,
            headers=headers,
            missed=missed,
        )
        return self._run(call)

    def schedule_list(self, *, after: str | None = None, limit: int = 100) -> list[Schedule]:
        """A page of schedules, after a name."""
        return self._run(calls.schedule_list(self.schema, after=after, limit=limit))

    def schedule_due(self, *, within_ms: Duration = 0, limit: int = 1000) -> list[Schedule]:
        """The schedules whose next tick comes within so long, and those of which nobody knows it yet."""
        return self._run(calls.schedule_due(self.schema, within_ms=within_ms, limit=limit))

    def schedule_tick(
        self,
        name: str,
        *,
        version: int,
        upto_at: Moment,
        ticks: Iterable[Moment],
        next_at: Moment | None = None,
    ) -> Ticked:
        """Create the messages of ticks that have come, each once, and remember it."""
        call = calls.schedule_tick(
            self.schema, name, version=version, upto_at=upto_at, ticks=ticks, next_at=next_at
        )
        return self._run(call)

    def schedule_run(self, name: str) -> ScheduleRan:
        """Create the message of a schedule now, beside its ticks."""
        return self._run(calls.schedule_run(self.schema, name))

    def schedule_pause(self, name: str) -> PauseAnswer:
        """Stop a schedule until it is resumed."""
        return self._run(calls.schedule_pause(self.schema, name))

    def schedule_resume(self, name: str) -> ResumeAnswer:
        """Let a paused schedule go on with the first tick after now."""
        return self._run(calls.schedule_resume(self.schema, name))

    def schedule_delete(self, name: str) -> ScheduleDeleteAnswer:
        """Delete a schedule; the messages that it created stay."""
        return self._run(calls.schedule_delete(self.schema, name))


class AsyncScheduleMethods(AsyncBase):
    """Messages that are to be created again and again."""

    async def schedule_set(
        self,
        name: str,
        *,
        channel: str,
        cron: str | None = None,
        every_ms: Duration | None = None,
        zone: str = "UTC",
        content: Bytes = b"",
        kind: str | None = None,
        headers: Mapping[str, Any] | None = None,
        missed: MissedTicks = "once",
    ) -> ScheduleSetAnswer:
        """Say what a schedule creates and when, by a cron line or an interval; workers do it."""
        call = calls.schedule_set(
            self.schema,
            name,
            channel=channel,
            cron=cron,
            every_ms=every_ms,
            zone=zone,
            content=content,
            kind=kind,
            headers=headers,
            missed=missed,
        )
        return await self._run(call)

    async def schedule_list(self, *, after: str | None = None, limit: int = 100) -> list[Schedule]:
        """A page of schedules, after a name."""
        return await self._run(calls.schedule_list(self.schema, after=after, limit=limit))

    async def schedule_due(self, *, within_ms: Duration = 0, limit: int = 1000) -> list[Schedule]:
        """The schedules whose next tick comes within so long, and those of which nobody knows it yet."""
        return await self._run(calls.schedule_due(self.schema, within_ms=within_ms, limit=limit))

    async def schedule_tick(
        self,
        name: str,
        *,
        version: int,
        upto_at: Moment,
        ticks: Iterable[Moment],
        next_at: Moment | None = None,
    ) -> Ticked:
        """Create the messages of ticks that have come, each once, and remember it."""
        call = calls.schedule_tick(
            self.schema, name, version=version, upto_at=upto_at, ticks=ticks, next_at=next_at
        )
        return await self._run(call)

    async def schedule_run(self, name: str) -> ScheduleRan:
        """Create the message of a schedule now, beside its ticks."""
        return await self._run(calls.schedule_run(self.schema, name))

    async def schedule_pause(self, name: str) -> PauseAnswer:
        """Stop a schedule until it is resumed."""
        return await self._run(calls.schedule_pause(self.schema, name))

    async def schedule_resume(self, name: str) -> ResumeAnswer:
        """Let a paused schedule go on with the first tick after now."""
        return await self._run(calls.schedule_resume(self.schema, name))

    async def schedule_delete(self, name: str) -> ScheduleDeleteAnswer:
        """Delete a schedule; the messages that it created stay."""
        return await self._run(calls.schedule_delete(self.schema, name))
