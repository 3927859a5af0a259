"""Creates the messages of schedules when their ticks come; however many workers do so, each tick is created once."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from lonnymq.client import calls
from lonnymq.client.arguments import Bytes, Duration, milliseconds, optional
from lonnymq.client.call import Call
from lonnymq.errors import InvalidArgument, LonnyMQError
from lonnymq.results import MissedTicks, Schedule, ScheduleSetAnswer
from lonnymq.worker.link import Backoff, Link
from lonnymq.worker.log import logger
from lonnymq.worker.texts import where
from lonnymq.worker.ticks import check_cron, check_zone, next_tick, to_create

LOOK_SECONDS = 10.0
PATIENCE = 3  # answers "behind" before looking again at what is left to do


@dataclass(frozen=True, slots=True)
class Declared:
    """A schedule as the program declares it; the worker stores it when it starts."""

    name: str
    channel: str
    cron: str | None = None
    every_ms: int | None = None
    zone: str = "UTC"
    content: Bytes = b""
    kind: str | None = None
    headers: dict[str, Any] | None = field(default=None, hash=False)
    missed: MissedTicks = "once"

    def call(self, schema: str) -> Call[ScheduleSetAnswer]:
        """The call that stores it."""
        return calls.schedule_set(
            schema,
            self.name,
            channel=self.channel,
            cron=self.cron,
            every_ms=self.every_ms,
            zone=self.zone,
            content=self.content,
            kind=self.kind,
            headers=self.headers,
            missed=self.missed,
        )


def declared(
    name: str, *, cron: str | None, every_ms: Duration | None, zone: str, **more: Any
) -> Declared:
    """A schedule, checked as far as it can be without the database."""
    interval = optional(milliseconds, "every_ms", every_ms)
    schedule = Declared(name, cron=cron, every_ms=interval, zone=zone, **more)
    check_zone(zone)
    if cron is not None:
        check_cron(cron, zone)
    schedule.call("lonnymq")  # refuses what cannot be stored
    return schedule


class Scheduler:
    """Looks which ticks come next, waits for the first, and creates what has come."""

    def __init__(self, link: Link) -> None:
        self.link = link
        self.unreadable: set[tuple[str, int]] = set()

    async def run(self) -> None:
        """Tick for ever."""
        backoff = Backoff()
        while True:
            try:
                pause = await self.look()
            except Exception as error:
                self.link.down(error)
                await backoff.pause()
            else:
                backoff.reset()
                await asyncio.sleep(pause)

    async def look(self) -> float:
        """Deal with what has come; say how long until it is time to look again."""
        call = calls.schedule_due(self.link.schema, within_ms=int(LOOK_SECONDS * 1000), limit=1000)
        schedules = await self.link.run(call)
        looked = time.monotonic()
        come = [each for each in schedules if self.has_come(each)]
        if come:
            longest = 0.02 if await self.deal(come) else 0.25
            return random.uniform(0, longest)  # noqa: S311 - spreads load
        waits = [each.next_at - each.now_at for each in schedules if each.next_at is not None]
        pause = min([LOOK_SECONDS, *(wait / 1000 for wait in waits)])
        return max(0.001, pause - (time.monotonic() - looked))

    def has_come(self, schedule: Schedule) -> bool:
        """Whether there is something to do about a schedule."""
        if (schedule.name, schedule.version) in self.unreadable:
            return False
        return schedule.next_at is None or schedule.next_at <= schedule.now_at

    async def deal(self, come: Sequence[Schedule]) -> bool:
        """Deal with schedules whose time has come, in no order: workers share them; say whether any was left."""
        behind = dealt = 0
        for schedule in random.sample(come, len(come)):
            if behind < PATIENCE:
                done = await self.tick(schedule)
                dealt, behind = dealt + done, behind + (not done)
        return dealt > 0

    async def tick(self, schedule: Schedule) -> bool:
        """Create what one schedule's ticks ask for; say whether another worker was not quicker."""
        try:
            upto = schedule.now_at
            ticks = to_create(schedule, schedule.missed, schedule.tick_at, upto)
            next_at = next_tick(schedule, upto)
            if next_at is None:
                raise InvalidArgument("its moment never comes")
        except Exception as error:
            self.complain(schedule, error)
            return True
        ticked = await self.link.run(
            calls.schedule_tick(
                self.link.schema,
                schedule.name,
                version=schedule.version,
                upto_at=upto,
                ticks=ticks,
                next_at=next_at,
            )
        )
        if ticked.answer == "ticked" and ticked.created < len(ticks):
            logger.warning(
                "schedule %s: its channel took %s of %s messages",
                schedule.name,
                ticked.created,
                len(ticks),
                extra={"schedule": schedule.name, "channel": schedule.channel},
            )
        return ticked.answer != "behind"

    def complain(self, schedule: Schedule, error: Exception) -> None:
        """Tell once of a schedule that cannot be read."""
        key = (schedule.name, schedule.version)
        if key not in self.unreadable:
            self.unreadable.add(key)
            said = str(error) if isinstance(error, LonnyMQError) else where(error)
            logger.error(
                "schedule %s cannot be read: %s",
                schedule.name,
                said,
                extra={"schedule": schedule.name},
            )
