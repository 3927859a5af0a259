"""What can be done to schedules: run one now, stop it, let it go on."""

from __future__ import annotations

from typing import Any

from lonnymq.client import calls
from lonnymq.dashboard.bodies import text_in
from lonnymq.dashboard.deeds import Deed, Did, Hand, Will, refuse_unknown
from lonnymq.dashboard.problems import Problem, not_found
from lonnymq.dashboard.queues import Row

SCHEDULES = "select * from {schema}.schedule_list(null, 10000)"


class RunSchedule(Deed):
    """Creates a schedule's message now."""

    body = ("name",)

    async def preview(self, hand: Hand, body: dict[str, Any]) -> Will:
        """What will be created."""
        row = await schedule(hand, text_in(body, "name"))
        return Will(
            f"A message will be created in channel '{row['channel']}' now, beside the ticks of the schedule."
        )

    async def do(self, hand: Hand, body: dict[str, Any]) -> Did:
        """Create it."""
        name = text_in(body, "name")
        ran = await hand.call(calls.schedule_run(hand.schema, name))
        refuse_unknown(ran.answer)
        if ran.id is None:
            raise Problem("conflict", "The channel takes no more messages.", advice="See its size.")
        return Did(
            f"Message {ran.id} was created.", ran.answer, name, parameters={"id": str(ran.id)}
        )


class PauseSchedule(Deed):
    """Stops a schedule."""

    body = ("name",)

    async def preview(self, hand: Hand, body: dict[str, Any]) -> Will:
        """What will no longer be created."""
        row = await schedule(hand, text_in(body, "name"))
        return Will(
            f"It will create nothing in channel '{row['channel']}' until it is resumed.",
            warning="It is paused already." if row["paused"] else None,
        )

    async def do(self, hand: Hand, body: dict[str, Any]) -> Did:
        """Stop it."""
        name = text_in(body, "name")
        return await hand.done(
            calls.schedule_pause(hand.schema, name), "The schedule is paused.", name
        )


class ResumeSchedule(Deed):
    """Lets a schedule go on."""

    body = ("name",)

    async def preview(self, hand: Hand, body: dict[str, Any]) -> Will:
        """What will be created again."""
        row = await schedule(hand, text_in(body, "name"))
        return Will(
            f"It will create messages in channel '{row['channel']}' again when their time comes.",
            warning=None if row["paused"] else "It is not paused.",
        )

    async def do(self, hand: Hand, body: dict[str, Any]) -> Did:
        """Let it go on."""
        name = text_in(body, "name")
        return await hand.done(
            calls.schedule_resume(hand.schema, name), "The schedule goes on.", name
        )


async def schedule(hand: Hand, name: str) -> Row:
    """A schedule that is meant."""
    for each in await hand.rows(SCHEDULES, {}):
        if each["name"] == name:
            return each
    raise not_found("There is no such schedule.")
