"""Creates the messages of schedules when they are due. Each run is created once, however many workers run."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from lonnymq.backoff import Backoff
from lonnymq.client import calls
from lonnymq.client.arguments import Bytes, Duration, milliseconds, optional
from lonnymq.client.call import Call
from lonnymq.errors import InvalidArgument, LonnyMQError
from lonnymq.results import Misfire, Schedule, ScheduleSetAnswer
from lonnymq.worker.cron import check_cron, check_zone, next_run, runs_to_create
from lonnymq.worker.database import Database, wait_for
from lonnymq.worker.error_text import locate_error

logger = logging.getLogger("lonnymq.worker")

LOOK_SECONDS = 10.0
MAX_BEHIND = 3  # answers "behind" before a new look: other workers are quicker


@dataclass(frozen=True, slots=True)
class DeclaredSchedule:
    """A schedule that a program declares. The worker stores the schedule at its start."""

    name: str
    channel: str
    cron: str | None = None
    every_ms: int | None = None
    timezone: str = "UTC"
    content: Bytes = b""
    kind: str | None = None
    headers: dict[str, Any] | None = field(default=None, hash=False)
    misfire: Misfire = "once"

    def call(self, schema: str) -> Call[ScheduleSetAnswer]:
        """Build the call that stores the schedule."""
        return calls.schedule_set(
            schema,
            self.name,
            channel=self.channel,
            cron=self.cron,
            every_ms=self.every_ms,
            timezone=self.timezone,
            content=self.content,
            kind=self.kind,
            headers=self.headers,
            misfire=self.misfire,
        )


def declare_schedule(
    name: str, *, cron: str | None, every_ms: Duration | None, timezone: str, **more: Any
) -> DeclaredSchedule:
    """Return a schedule, checked as far as possible without the database."""
    interval = optional(milliseconds, "every_ms", every_ms)
    schedule = DeclaredSchedule(name, cron=cron, every_ms=interval, timezone=timezone, **more)
    check_zone(timezone)
    if cron is not None:
        check_cron(cron, timezone)
    schedule.call("lonnymq")  # raises if a value cannot be stored
    return schedule


class Scheduler:
    """Waits for the next run of all schedules and creates the messages that are due."""

    def __init__(self, database: Database) -> None:
        self.database, self.wake = database, asyncio.Event()
        self.unreadable: set[tuple[str, int]] = set()

    async def run(self) -> None:
        """Create messages until cancelled."""
        backoff = Backoff()
        while True:
            try:
                pause = await self.create_due()
            except Exception as error:
                self.database.log_error(error)
                await backoff.sleep()
            else:
                backoff.reset()
                await wait_for(self.wake, pause)
                self.wake.clear()

    async def create_due(self) -> float:
        """Create the messages that are due, and return the seconds until the next look."""
        call = calls.schedule_due(
            self.database.schema, within_ms=int(LOOK_SECONDS * 1000), limit=1000
        )
        schedules = await self.database.run(call)
        looked = time.monotonic()
        due = [each for each in schedules if self.is_due(each)]
        if due:
            longest = 0.02 if await self.advance_all(due) else 0.25
            return random.uniform(0, longest)  # noqa: S311 - spreads load
        waits = [each.next_at - each.now_at for each in schedules if each.next_at is not None]
        pause = min([LOOK_SECONDS, *(wait / 1000 for wait in waits)])
        return max(0.001, pause - (time.monotonic() - looked))

    def is_due(self, schedule: Schedule) -> bool:
        """Return whether a schedule needs a run now."""
        if (schedule.name, schedule.version) in self.unreadable:
            return False
        return schedule.next_at is None or schedule.next_at <= schedule.now_at

    async def advance_all(self, due: Sequence[Schedule]) -> bool:
        """Run schedules in random order, because workers share them. Return whether other workers left any."""
        behind = advanced = 0
        for schedule in random.sample(due, len(due)):
            if behind < MAX_BEHIND:
                done = await self.advance(schedule)
                advanced, behind = advanced + done, behind + (not done)
        return advanced > 0

    async def advance(self, schedule: Schedule) -> bool:
        """Create the messages of one schedule. Return False if another worker was quicker."""
        try:
            upto = schedule.now_at
            runs = runs_to_create(schedule, schedule.misfire, schedule.last_run_at, upto)
            next_at = next_run(schedule, upto)
            if next_at is None:
                raise InvalidArgument("the schedule never comes")
        except Exception as error:
            self.log_unreadable(schedule, error)
            return True
        advanced = await self.database.run(
            calls.schedule_advance(
                self.database.schema,
                schedule.name,
                version=schedule.version,
                upto_at=upto,
                runs=runs,
                next_at=next_at,
            )
        )
        if advanced.answer == "advanced" and advanced.created < len(runs):
            logger.warning(
                "schedule %s: the channel accepted %s of %s messages",
                schedule.name,
                advanced.created,
                len(runs),
                extra={"schedule": schedule.name, "channel": schedule.channel},
            )
        return advanced.answer != "behind"

    def log_unreadable(self, schedule: Schedule, error: Exception) -> None:
        """Log a schedule that cannot be read, once."""
        key = (schedule.name, schedule.version)
        if key not in self.unreadable:
            self.unreadable.add(key)
            text = str(error) if isinstance(error, LonnyMQError) else locate_error(error)
            logger.error(
                "cannot read schedule %s: %s",
                schedule.name,
                text,
                extra={"schedule": schedule.name},
            )
