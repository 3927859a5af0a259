"""Actions on schedules: run, pause, resume."""

from __future__ import annotations

from lonnymq.client import calls
from lonnymq.dashboard.actions import ActionBody, ActionResult, Preview, require_found
from lonnymq.dashboard.errors import ApiError, not_found
from lonnymq.dashboard.queues import QueueTransaction, Row
from lonnymq.dashboard.request import Text

MAX_SCHEDULES = 10_000


class ScheduleBody(ActionBody):
    """The schedule to act on."""

    name: Text

    async def find_channels(self, transaction: QueueTransaction) -> list[str]:
        """The channel in which the schedule creates messages."""
        return [(await read_schedule(transaction, self.name))["channel"]]

    @property
    def subject(self) -> str:
        """The subject for the audit log."""
        return self.name


async def preview_run(transaction: QueueTransaction, body: ScheduleBody) -> Preview:
    """Name the channel of the message."""
    row = await read_schedule(transaction, body.name)
    return Preview(
        f"A message will be created in channel '{row['channel']}' now. The next runs of the schedule stay the same."
    )


async def run_now(transaction: QueueTransaction, body: ScheduleBody) -> ActionResult:
    """Create the message."""
    created = await transaction.call(calls.schedule_run, body.name)
    require_found(created.answer)
    if created.id is None:
        advice = "Look at the size limit of the channel."
        raise ApiError("conflict", "The channel is full.", advice=advice)
    message, parameters = f"Message {created.id} is created.", {"id": str(created.id)}
    return ActionResult(message, created.answer, body.name, parameters=parameters)


async def preview_pause(transaction: QueueTransaction, body: ScheduleBody) -> Preview:
    """Name the channel that will get no messages."""
    row = await read_schedule(transaction, body.name)
    return Preview(
        f"The schedule will create no messages in channel '{row['channel']}' until you resume it.",
        warning="The schedule is already paused." if row["paused"] else None,
    )


async def preview_resume(transaction: QueueTransaction, body: ScheduleBody) -> Preview:
    """Name the channel that will get messages again."""
    row = await read_schedule(transaction, body.name)
    return Preview(
        f"The schedule will create messages in channel '{row['channel']}' again.",
        warning=None if row["paused"] else "The schedule is not paused.",
    )


async def read_schedule(transaction: QueueTransaction, name: str) -> Row:
    """The schedule to act on."""
    for each in await transaction.rows(calls.schedule_list, limit=MAX_SCHEDULES):
        if each["name"] == name:
            return each
    raise not_found("This schedule does not exist.")
