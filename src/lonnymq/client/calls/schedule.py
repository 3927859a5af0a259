"""The functions of schedules, and of the workers that look after them."""

from __future__ import annotations

from lonnymq.client.arguments import (
    Content,
    Count,
    Flag,
    Identifier,
    Json,
    JsonOrEmpty,
    MisfireArgument,
    Name,
    Period,
    Text,
    Time,
    Times,
)
from lonnymq.client.describe import ADMIN, CONSUMER, READER, VIEWER, sql_function
from lonnymq.results import (
    PauseAnswer,
    ResumeAnswer,
    Schedule,
    ScheduleDeleteAnswer,
    ScheduleRan,
    ScheduleSetAnswer,
    Ticked,
    WorkerGoneAnswer,
    WorkerSeen,
    WorkerSeenAnswer,
)


@sql_function(CONSUMER)
def schedule_set(
    name: Text,
    *,
    channel: Name,
    cron: Text | None = None,
    every_ms: Period | None = None,
    timezone: Text = "UTC",
    content: Content = b"",
    kind: Name | None = None,
    headers: Json | None = None,
    misfire: MisfireArgument = "once",
) -> ScheduleSetAnswer:
    """Create or change a schedule, with a cron line or an interval. Workers create the messages."""


@sql_function(VIEWER)
def schedule_list(*, after: Text | None = None, limit: Count = 100) -> list[Schedule]:
    """List schedules page by page, after a name."""


@sql_function(CONSUMER)
def schedule_due(*, within_ms: Period = 0, limit: Count = 1000) -> list[Schedule]:
    """List the schedules with a run within `within_ms`, and the schedules whose next run is not known yet."""


@sql_function(CONSUMER)
def schedule_advance(
    name: Text, *, version: Identifier, upto_at: Time, runs: Times, next_at: Time | None = None
) -> Ticked:
    """Create the messages of runs that are due, each message once."""


@sql_function(ADMIN)
def schedule_run(name: Text) -> ScheduleRan:
    """Create the message of a schedule now, in addition to the runs."""


@sql_function(ADMIN)
def schedule_pause(name: Text) -> PauseAnswer:
    """Stop a schedule until you resume the schedule."""


@sql_function(ADMIN)
def schedule_resume(name: Text) -> ResumeAnswer:
    """Resume a paused schedule with the first run after now."""


@sql_function(ADMIN)
def schedule_delete(name: Text) -> ScheduleDeleteAnswer:
    """Delete a schedule. Messages of the schedule that exist already stay."""


@sql_function(CONSUMER)
def worker_seen(
    name: Name,
    *,
    concurrency: Count,
    running: Count = 0,
    stopping: Flag = False,
    about: JsonOrEmpty = None,
    interval_ms: Period = 10_000,
) -> WorkerSeenAnswer:
    """Report that a worker is alive. The next report is due within `interval_ms`."""


@sql_function(CONSUMER)
def worker_gone(name: Name) -> WorkerGoneAnswer:
    """Report that a worker has ended."""


@sql_function(READER)
def worker_list(*, after: Text | None = None, limit: Count = 100) -> list[WorkerSeen]:
    """List workers page by page, after a name."""
