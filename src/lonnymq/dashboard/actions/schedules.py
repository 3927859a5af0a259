"""Actions on schedules: run, pause, resume."""

from __future__ import annotations

from lonnymq.client import calls
from lonnymq.dashboard.actions.base import (
    Action,
    ActionContext,
    ActionResult,
    Preview,
    require_found,
)
from lonnymq.dashboard.errors import ApiError, not_found
from lonnymq.dashboard.queues import Row
from lonnymq.dashboard.request import Body, Text

SCHEDULES = "select * from {schema}.schedule_list(null, 10000)"


class ScheduleBody(Body):
    """The schedule to act on."""

    name: Text


class RunSchedule(Action[ScheduleBody]):
    """Create the message of a schedule now."""

    body = ScheduleBody

    async def preview(self, context: ActionContext, body: ScheduleBody) -> Preview:
        """Name the channel of the message."""
        row = await read_schedule(context, body.name)
        return Preview(
            f"A message will be created in channel '{row['channel']}' now. The next runs of the schedule stay the same."
        )

    async def run(self, context: ActionContext, body: ScheduleBody) -> ActionResult:
        """Create the message."""
        created = await context.call(calls.schedule_run(context.schema, body.name))
        require_found(created.answer)
        if created.id is None:
            advice = "Look at the size limit of the channel."
            raise ApiError("conflict", "The channel is full.", advice=advice)
        message, parameters = f"Message {created.id} is created.", {"id": str(created.id)}
        return ActionResult(message, created.answer, body.name, parameters=parameters)


class PauseSchedule(Action[ScheduleBody]):
    """Stop a schedule."""

    body = ScheduleBody

    async def preview(self, context: ActionContext, body: ScheduleBody) -> Preview:
        """Name the channel that will get no messages."""
        row = await read_schedule(context, body.name)
        return Preview(
            f"The schedule will create no messages in channel '{row['channel']}' until you resume it.",
            warning="The schedule is already paused." if row["paused"] else None,
        )

    async def run(self, context: ActionContext, body: ScheduleBody) -> ActionResult:
        """Stop the schedule."""
        call = calls.schedule_pause(context.schema, body.name)
        return await context.call_on(body.name, call, "The schedule is paused.")


class ResumeSchedule(Action[ScheduleBody]):
    """Resume a schedule."""

    body = ScheduleBody

    async def preview(self, context: ActionContext, body: ScheduleBody) -> Preview:
        """Name the channel that will get messages again."""
        row = await read_schedule(context, body.name)
        return Preview(
            f"The schedule will create messages in channel '{row['channel']}' again.",
            warning=None if row["paused"] else "The schedule is not paused.",
        )

    async def run(self, context: ActionContext, body: ScheduleBody) -> ActionResult:
        """Resume the schedule."""
        call = calls.schedule_resume(context.schema, body.name)
        return await context.call_on(body.name, call, "The schedule is resumed.")


async def read_schedule(context: ActionContext, name: str) -> Row:
    """The schedule to act on."""
    for each in await context.rows(SCHEDULES, {}):
        if each["name"] == name:
            return each
    raise not_found("This schedule does not exist.")
