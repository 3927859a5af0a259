"""Builders of the schedule functions: what is created again and again, and when."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from lonnymq.calls import check
from lonnymq.calls.call import Call, Record, loads, scalar
from lonnymq.results import (
    PauseAnswer,
    ResumeAnswer,
    Schedule,
    ScheduleDeleteAnswer,
    ScheduleRan,
    ScheduleSetAnswer,
    Ticked,
)

SCHEDULE = Record(Schedule, headers=loads)
TICKED = Record(Ticked)
RAN = Record(ScheduleRan)


def schedule_set(
    schema: str,
    name: str,
    *,
    channel: str,
    cron: str | None,
    every_ms: check.Duration | None,
    zone: str,
    content: check.Bytes,
    kind: str | None,
    headers: Mapping[str, Any] | None,
    missed: str,
) -> Call[ScheduleSetAnswer]:
    """Say what a schedule creates and when."""
    values = (
        check.text("name", name),
        check.name("channel", channel),
        check.optional(check.text, "cron", cron),
        check.optional(check.milliseconds, "every_ms", every_ms),
        check.text("zone", zone),
        check.content("content", content),
        check.optional(check.name, "kind", kind),
        check.optional(check.headers, "headers", headers),
        check.text("missed", missed),
    )
    return scalar(
        schema, "schedule_set", "text text text bigint text bytea text jsonb text", values
    )


def schedule_list(schema: str, *, after: str | None, limit: int) -> Call[list[Schedule]]:
    """A page of schedules, by name."""
    values = (check.optional(check.text, "after", after), check.count("limit", limit))
    return SCHEDULE.call(schema, "schedule_list", "text integer", values)


def schedule_due(schema: str, *, within_ms: check.Duration, limit: int) -> Call[list[Schedule]]:
    """The schedules that a worker is to look at."""
    values = (check.milliseconds("within_ms", within_ms), check.count("limit", limit))
    return SCHEDULE.call(schema, "schedule_due", "bigint integer", values)


def schedule_tick(
    schema: str,
    name: str,
    *,
    version: int,
    upto_at: check.Moment,
    ticks: Iterable[check.Moment],
    next_at: check.Moment | None,
) -> Call[Ticked]:
    """Create the messages of ticks that have come, each once."""
    values = (
        check.text("name", name),
        check.identifier("version", version),
        check.moment("upto_at", upto_at),
        [check.moment("tick", each) for each in ticks],
        check.optional(check.moment, "next_at", next_at),
    )
    return TICKED.call_one(schema, "schedule_tick", "text bigint bigint bigint[] bigint", values)


def schedule_run(schema: str, name: str) -> Call[ScheduleRan]:
    """Create the message of a schedule now."""
    return RAN.call_one(schema, "schedule_run", "text", (check.text("name", name),))


def schedule_pause(schema: str, name: str) -> Call[PauseAnswer]:
    """Stop a schedule."""
    return scalar(schema, "schedule_pause", "text", (check.text("name", name),))


def schedule_resume(schema: str, name: str) -> Call[ResumeAnswer]:
    """Let a paused schedule go on."""
    return scalar(schema, "schedule_resume", "text", (check.text("name", name),))


def schedule_delete(schema: str, name: str) -> Call[ScheduleDeleteAnswer]:
    """Delete a schedule; its messages stay."""
    return scalar(schema, "schedule_delete", "text", (check.text("name", name),))
